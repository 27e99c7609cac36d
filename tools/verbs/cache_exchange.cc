// cache push, cache pull, cache sign: modules on their way between stores.

#include <sys/stat.h>

#include <chrono>

#include "tools/exchange/curl.h"
#include "tools/exchange/remote_store.h"
#include "tools/exchange/selection.h"
#include "tools/opening/open.h"
#include "tools/opening/verbs.h"
#include "tools/output/report_cells.h"

namespace pc::cli {
namespace {

// The place comes first.
const std::string& place_of(const Options& options, const char* verb) {
  if (options.keys.empty() || options.keys.front().empty())
    throw Failure(kUsage, std::string("cache ") + verb +
                              " takes the other store: a folder or an "
                              "address");
  return options.keys.front();
}

std::vector<std::string> names_of(const Options& options) {
  return {options.keys.begin() + 1, options.keys.end()};
}

bool selects(const Options& options) {
  return options.keys.size() > 1 || options.all || !options.schema.empty() || options.used_days;
}

ModuleKeys used_lately(const Json& files, std::uint32_t days) {
  using std::chrono::milliseconds;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto since = std::chrono::duration_cast<milliseconds>(now - std::chrono::hours(24) * days);
  ModuleKeys keys;
  for (const Json& file : files.items())
    if (static_cast<std::int64_t>(file["last_used_ms"].number().value_or(0)) >= since.count())
      keys.insert(file["key"].text());
  return keys;
}

// Of these, which the command line asks for.
ModuleKeys wanted(const Options& options, const ModuleKeys& known, const std::string& where) {
  if (options.all) return known;
  ModuleKeys keys = keys_named(names_of(options), known, where);
  if (!options.schema.empty()) keys.merge(keys_of_schema(options));
  return keys;
}

std::vector<std::string> list_of(const ModuleKeys& keys) {
  return {keys.begin(), keys.end()};
}

ExitCode tell(const Options& options, const std::string& report, const char* what) {
  const Json json = parse_report(report);
  std::string text;
  for (const Json& f : json["failed"].items())
    text += cell(f["key"]) + ": " + cell(f["why"]) + "\n";
  text += format_count(json["copied"].number().value_or(0), "module") + " " + what + "; " +
          cell(json["there"]) + " there already\n";
  print(options.json ? report + "\n" : text);
  return json["failed"].items().empty() ? kSuccess : kModelOrStore;
}

ExitCode push_to_url(const Options& options, const std::string& url, const std::string& own_dir,
                     const ModuleKeys& keys) {
  RemoteStore remote(url, own_dir, options.cache_trust);
  const RemoteStore::Sent sent = remote.send_modules(own_dir, keys, options.signing_key);
  remote.end();
  const Json report = Json::object()
                          .set("copied", sent.n_sent)
                          .set("there", sent.n_there)
                          .set("failed", sent.failed);
  return tell(options, report.dump(), "sent");
}

// What a folder's owner has listed, or what can be seen in it.
ModuleKeys keys_in_folder(const Options& options, const std::string& dir) {
  if (!options.cache_trust.empty())
    return keys_in_lines(promptcache::manifest_keys(dir + "/v3/manifest", options.cache_trust));
  ModuleKeys keys;
  collect_keys(parse_report(promptcache::Store(dir, PC_CACHE_READ_ONLY).describe())["files"],
               &keys);
  return keys;
}

}  // namespace

ExitCode cache_push(const Options& options) {
  ::umask(077);  // what is staged, and a new store, is this user's alone
  const std::string place = place_of(options, "push");
  if (!selects(options))
    throw Failure(kUsage,
                  "cache push takes, behind the other store, keys of modules, or --all, "
                  "--schema or --used-days");
  const Json own = parse_report(open_store(options, PC_CACHE_READ_ONLY).describe());
  const std::string own_dir = own["dir"].text();
  ModuleKeys known;
  collect_keys(own["files"], &known);
  ModuleKeys keys = wanted(options, known, own_dir);
  if (options.used_days) keys.merge(used_lately(own["files"], *options.used_days));
  if (is_url(place)) return push_to_url(options, place, own_dir, keys);
  make_folder(place);
  promptcache::Store other(place);
  const std::string report = other.pull(own_dir, {}, list_of(keys));
  if (!options.signing_key.empty()) other.sign(options.signing_key);
  return tell(options, report, "copied");
}

ExitCode cache_pull(const Options& options) {
  const std::string place = place_of(options, "pull");
  if (!selects(options) || options.used_days)
    throw Failure(
        kUsage, "cache pull takes, behind the other store, keys of modules, or --all or --schema");
  promptcache::Store store = make_store(options);
  const Json own = parse_report(store.describe());
  if (!is_url(place)) {
    const ModuleKeys keys = wanted(options, keys_in_folder(options, place), place);
    return tell(options, store.pull(place, options.cache_trust, list_of(keys)), "copied");
  }
  ModuleKeys there;
  collect_keys(own["files"], &there);
  RemoteStore remote(place, own["dir"].text(), options.cache_trust);
  const ModuleKeys keys = wanted(options, remote.fetch_list(), place);
  const std::string& fetched = remote.fetch_modules(keys, there);
  const std::string report = store.pull(fetched, options.cache_trust, list_of(keys));
  remote.end();
  return tell(options, report, "copied");
}

ExitCode cache_sign(const Options& options) {
  promptcache::Store store = open_store(options, PC_CACHE_READ_WRITE);
  const std::string list = parse_report(store.describe())["dir"].text() + "/v3/manifest";
  if (options.signing_key.empty() && is_signed(list))
    throw Failure(kUsage, "the list " + list +
                              " is signed, and would not be any more: name the key that signs it "
                              "with --key, or remove the list");
  const std::uint64_t n = store.sign(options.signing_key, {});
  print(options.json ? Json::object().set("listed_files", n).dump() + "\n"
                     : format_count(n, "file") + " listed" +
                           (options.signing_key.empty() ? "\n" : " and signed\n"));
  return kSuccess;
}

}  // namespace pc::cli
