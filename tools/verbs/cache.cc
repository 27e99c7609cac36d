#include <array>
#include <ctime>

#include "tools/opening/open.h"
#include "tools/opening/verbs.h"
#include "tools/output/json.h"
#include "tools/output/report_cells.h"
#include "tools/output/table.h"

namespace pc::cli {
namespace {

constexpr std::uint64_t kDefaultBudget = std::uint64_t{8} << 30;  // as pc_engine_options says

// Local time to the minute.
std::string time_cell(const Json& milliseconds) {
  const auto ms = milliseconds.number();
  const std::time_t seconds = static_cast<std::time_t>(ms.value_or(0) / 1000);
  std::tm local{};
  std::array<char, 32> text;
  if (!ms || !localtime_r(&seconds, &local)) return "-";
  return std::strftime(text.data(), text.size(), "%F %H:%M", &local) == 0 ? "-" : text.data();
}

// The second table of `cache ls`; nothing where there is none.
std::string packed_text(const Json& store) {
  const auto files = store["packed"].items();
  if (files.empty()) return {};
  Table table({{"packed weights"}, {"bytes", Table::Align::kRight}, {"model"}, {"last used"}});
  for (const Json& f : files)
    table.add_row({key_cell(f["key"]), size_cell(f["bytes"]), cell(f["model"]).substr(0, 12),
                   time_cell(f["last_used_ms"])});
  return "\n" + table.text() + "\n" + format_count(files.size(), "file") + " of packed weights, " +
         size_cell(store["packed_bytes"]) + "\n";
}

std::string list_text(const Json& store) {
  using Align = Table::Align;
  Table table({{"key"},
               {"bytes", Align::kRight},
               {"tokens", Align::kRight},
               {"type"},
               {"layers", Align::kRight},
               {"model"},
               {"backend"},
               {"last used"}});
  const auto files = store["files"].items();
  for (const Json& f : files)
    table.add_row({key_cell(f["key"]), size_cell(f["bytes"]), cell(f["tokens"]), cell(f["kv_type"]),
                   cell(f["layers"]), cell(f["model"]).substr(0, 12), cell(f["backend"]),
                   time_cell(f["last_used_ms"]) + (f["pinned"].truth() ? " pinned" : "")});
  return table.text() + "\n" + format_count(files.size(), "file") + ", " +
         size_cell(store["bytes"]) + " in " + cell(store["dir"]) + "\n" + packed_text(store);
}

std::string show_text(const Json& file) {
  Table fields({{}, {}});
  for (const char* name :
       {"key", "bytes", "version", "kv_type", "layers", "kv_heads", "head_dim", "tokens", "model",
        "tokenizer", "rope", "attend", "layout_version", "backend", "numerics_version"})
    fields.add_row(
        {name, std::string_view(name) == "bytes" ? size_cell(file[name]) : cell(file[name])});
  Table runs({{"run"}, {"tokens", Table::Align::kRight}, {"local position", Table::Align::kRight}});
  std::size_t n = 0;
  for (const Json& run : file["runs"].items())
    runs.add_row({std::to_string(n++), cell(run["tokens"]), cell(run["local_position"])});
  return fields.text() + "\n" + runs.text();
}

std::string collected_text(const Json& report) {
  const auto count = [&](const char* field) {
    return format_count(report[field].number().value_or(0), "file");
  };
  return count("removed_files") + " removed, " + size_cell(report["removed_bytes"]) + "; " +
         size_cell(report["left_bytes"]) + " left, " + count("in_use_files") + " in use, " +
         count("pinned_files") + " pinned\n";
}

bool is_empty(const Json& collected) {
  return collected["removed_files"].number() == std::uint64_t{0} &&
         collected["left_bytes"].number() == std::uint64_t{0};
}

}  // namespace

ExitCode cache_list(const Options& options) {
  const std::string report = open_store(options, PC_CACHE_READ_ONLY).describe();
  print(options.json ? report + "\n" : list_text(parse_report(report)));
  return kSuccess;
}

ExitCode cache_show(const Options& options) {
  const std::string report = open_store(options, PC_CACHE_READ_ONLY).show(options.keys.front());
  print(options.json ? report + "\n" : show_text(parse_report(report)));
  return kSuccess;
}

ExitCode cache_verify(const Options& options) {
  const promptcache::Store store = open_store(options, PC_CACHE_READ_ONLY);
  const std::string report =
      options.keys.empty() ? store.verify_all() : store.verify(options.keys.front());
  const Json json = parse_report(report);
  const auto files = json["files"].items();
  std::string text;
  for (const Json& f : files)
    if (!f["ok"].truth()) text += cell(f["key"]) + ": " + cell(f["why"]) + "\n";
  text += format_count(files.size(), "file") + " checked, " + cell(json["bad"]) + " damaged";
  const bool some_vanished = json["vanished"].number() != std::uint64_t{0};
  text += some_vanished ? ", " + cell(json["vanished"]) + " removed meanwhile\n" : "\n";
  print(options.json ? report + "\n" : text);
  return json["bad"].number() == std::uint64_t{0} ? kSuccess : kModelOrStore;
}

ExitCode cache_remove(const Options& options) {
  if (options.keys.empty() != options.all)
    throw Failure(kUsage, "cache rm takes the keys of the files to remove, or --all");
  promptcache::Store store = open_store(options, PC_CACHE_READ_WRITE);
  std::uint64_t removed = options.all ? store.remove_all() : 0;
  for (const std::string& key : options.keys) removed += store.remove(key);
  print(options.json ? Json::object().set("removed_files", removed).dump() + "\n"
                     : format_count(removed, "file") + " removed\n");
  return kSuccess;
}

// The last of the names is the file.
ExitCode cache_export(const Options& options) {
  if (options.keys.empty() || (options.keys.size() == 1) != options.all)
    throw Failure(kUsage,
                  "cache export takes the keys of the modules and a new file, or --all and a file");
  const std::string& file = options.keys.back();
  open_store(options, PC_CACHE_READ_ONLY)
      .export_modules({options.keys.begin(), options.keys.end() - 1}, file);
  print(options.json ? Json::object().set("file", file).dump() + "\n" : "");
  return kSuccess;
}

ExitCode cache_pin(const Options& options) {
  promptcache::Store store = open_store(options, PC_CACHE_READ_WRITE);
  for (const std::string& key : options.keys) store.pin(key);
  print(options.json
            ? Json::object().set("pinned_files", std::uint64_t{options.keys.size()}).dump() + "\n"
            : format_count(options.keys.size(), "file") + " pinned\n");
  return kSuccess;
}

ExitCode cache_unpin(const Options& options) {
  promptcache::Store store = open_store(options, PC_CACHE_READ_WRITE);
  for (const std::string& key : options.keys) store.unpin(key);
  print(options.json
            ? Json::object().set("unpinned_files", std::uint64_t{options.keys.size()}).dump() + "\n"
            : format_count(options.keys.size(), "file") + " unpinned\n");
  return kSuccess;
}

ExitCode cache_import(const Options& options) {
  promptcache::Store store = make_store(options);
  for (const std::string& file : options.files) {
    const std::string lines = store.import_modules(file);  // of a key each
    Json keys = Json::array();
    for (std::size_t at = 0, end; (end = lines.find('\n', at)) != lines.npos; at = end + 1)
      keys.push(lines.substr(at, end - at));
    print(options.json ? Json::object().set("file", file).set("keys", keys).dump() + "\n" : lines);
  }
  return kSuccess;
}

ExitCode cache_collect(const Options& options) {
  const std::string report =
      open_store(options, PC_CACHE_READ_WRITE).gc(options.cache_bytes.value_or(kDefaultBudget));
  const Json json = parse_report(report);
  const Json packed = json["packed"];
  std::string text = collected_text(json);
  if (!is_empty(packed)) text += "packed weights: " + collected_text(packed);
  print(options.json ? report + "\n" : text);
  return kSuccess;
}

}  // namespace pc::cli
