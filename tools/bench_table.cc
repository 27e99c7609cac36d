#include "tools/bench_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "tools/sizes.h"
#include "tools/terminal.h"

namespace pc::cli {
namespace {

using Kind = BenchCase::Kind;
using Fields = std::vector<std::pair<std::string, Json>>;

template <class... Numbers>
std::string format(const char* text, Numbers... numbers) {
  std::array<char, 96> out;
  std::snprintf(out.data(), out.size(), text, numbers...);
  return out.data();
}

std::string spread(const Samples& samples) {
  return format("%.2f ± %.2f", mean(samples), deviation(samples));
}

template <class Function>
Samples each(const Samples& samples, const Function& function) {
  Samples out;
  std::transform(samples.begin(), samples.end(), std::back_inserter(out), function);
  return out;
}

Samples times(const Samples& samples, double factor) {
  return each(samples, [factor](double x) { return x * factor; });
}

double tokens_of(const BenchCase& test) {
  return test.kind == Kind::kDecode ? double{1} * test.n_gen * test.n_sessions : test.n_prompt;
}

Samples rates(const BenchResult& result) {
  return each(result.seconds, [&](double s) { return tokens_of(result.test) / s; });
}

Samples speed_ups(const BenchResult& result) {
  Samples out;
  for (std::size_t i = 0; i < result.seconds.size(); ++i)
    out.push_back(result.full_seconds[i] / result.seconds[i]);
  return out;
}

// ---------------------------------------------------------------- Markdown

class Markdown {
 public:
  struct Column {
    std::string title;
    bool right = true;
  };
  explicit Markdown(std::vector<Column> columns) : columns_(std::move(columns)) {
    for (const Column& column : columns_) widths_.push_back(display_width(column.title));
  }
  void add_row(std::vector<std::string> cells) {
    for (std::size_t i = 0; i < cells.size(); ++i)
      widths_[i] = std::max(widths_[i], display_width(cells[i]));
    rows_.push_back(std::move(cells));
  }
  std::string text() const {
    if (rows_.empty()) return "";
    std::vector<std::string> titles, rules;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      titles.push_back(columns_[i].title);
      rules.push_back(std::string(widths_[i] - columns_[i].right, '-') +
                      (columns_[i].right ? ":" : ""));
    }
    std::string out = line(titles) + line(rules);
    for (const auto& row : rows_) out += line(row);
    return out;
  }

 private:
  std::string line(const std::vector<std::string>& cells) const {
    std::string out = "|";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string padding(widths_[i] - display_width(cells[i]), ' ');
      out += " " + (columns_[i].right ? padding + cells[i] : cells[i] + padding) + " |";
    }
    return out + "\n";
  }

  std::vector<Column> columns_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
};

std::string size_cell(std::uint64_t bytes) {
  const double mib = static_cast<double>(bytes) / (1 << 20);
  return mib < 1024 ? format("%.2f MiB", mib) : format("%.2f GiB", mib / 1024);
}

std::string parameters_cell(std::uint64_t n) {
  const double millions = static_cast<double>(n) / 1e6;
  return millions < 1000 ? format("%.2f M", millions) : format("%.2f B", millions / 1000);
}

// What every line of a table begins with.
std::vector<std::string> subject_cells(const BenchSubject& s) {
  std::string backend = s.backend == "cpu" ? "CPU" : s.backend;
  return {printable(s.model_type), size_cell(s.weight_bytes), parameters_cell(s.n_parameters),
          printable(backend), std::to_string(s.threads)};
}

Markdown table_with(std::vector<Markdown::Column> more) {
  std::vector<Markdown::Column> columns = {{"model", false},   {"size"},    {"params"},
                                           {"backend", false}, {"threads"}, {"test"}};
  columns.insert(columns.end(), more.begin(), more.end());
  return Markdown(std::move(columns));
}

std::string rates_table(const BenchReport& report) {
  Markdown table = table_with({{"t/s"}, {"memory floor, t/s"}, {"reached"}});
  for (const BenchRow& row : report.rows) {
    if (row.result.test.kind == Kind::kFirstToken) continue;
    std::vector<std::string> cells = subject_cells(report.subject);
    const Samples rate = rates(row.result);
    cells.insert(cells.end(), {name_of(row.result.test), spread(rate)});
    if (row.floor_seconds) {
      const double floor = tokens_of(row.result.test) / *row.floor_seconds;
      cells.insert(cells.end(),
                   {format("%.2f", floor), format("%.0f %%", 100 * mean(rate) / floor)});
    } else {
      cells.insert(cells.end(), {"-", "-"});
    }
    table.add_row(std::move(cells));
  }
  return table.text();
}

std::string first_tokens_table(const BenchReport& report) {
  Markdown table =
      table_with({{"full prefill, ms"}, {"cached, ms"}, {"times sooner"}, {"memory floor, ms"}});
  for (const BenchRow& row : report.rows) {
    if (row.result.test.kind != Kind::kFirstToken) continue;
    std::vector<std::string> cells = subject_cells(report.subject);
    cells.insert(cells.end(),
                 {name_of(row.result.test), spread(times(row.result.full_seconds, 1e3)),
                  spread(times(row.result.seconds, 1e3)), spread(speed_ups(row.result)),
                  row.floor_seconds ? format("%.2f", *row.floor_seconds * 1e3) : "-"});
    table.add_row(std::move(cells));
  }
  return table.text();
}

// --------------------------------------------------------------- CSV, JSON

std::uint64_t nanoseconds(double seconds) {
  return static_cast<std::uint64_t>(std::llround(seconds * 1e9));
}

Fields subject_fields(const BenchSubject& s) {
  return {{"build_version", s.build},
          {"isa", s.instruction_set},
          {"cpu_info", s.machine.cpu},
          {"backends", s.backend == "cpu" ? "CPU" : s.backend},
          {"model_filename", s.model_path},
          {"model_type", s.model_type},
          {"model_size", s.weight_bytes},
          {"model_n_params", s.n_parameters},
          {"n_threads", s.threads},
          {"type_k", s.kv_type},
          {"type_v", s.kv_type},
          {"precision", s.precision},
          {"cache_bytes", s.machine.cache_bytes},
          {"read_bytes_per_s", std::round(s.machine.read_bytes_per_s)}};
}

// The rate of a first token would be none of anything: its fields are empty there, as are those of
// the full prefill elsewhere.
Fields fields_of(const BenchSubject& subject, const BenchRow& row) {
  const BenchResult& r = row.result;
  const bool first = r.test.kind == Kind::kFirstToken;
  const auto some = [](bool there, auto value) { return there ? Json(value) : Json(); };
  const Samples rate = rates(r), sooner = first ? speed_ups(r) : Samples();
  Fields fields = subject_fields(subject);
  const Fields own = {
      {"test", name_of(r.test)},
      {"n_sessions", r.test.n_sessions},
      {"n_prompt", r.test.n_prompt},
      {"n_gen", r.test.n_gen},
      {"n_depth", r.test.depth},
      {"test_time", row.time},
      {"avg_ns", nanoseconds(mean(r.seconds))},
      {"stddev_ns", nanoseconds(deviation(r.seconds))},
      {"avg_ts", some(!first, mean(rate))},
      {"stddev_ts", some(!first, deviation(rate))},
      {"floor_ns", some(row.floor_seconds.has_value(), nanoseconds(row.floor_seconds.value_or(0)))},
      {"full_avg_ns", some(first, nanoseconds(mean(r.full_seconds)))},
      {"full_stddev_ns", some(first, nanoseconds(deviation(r.full_seconds)))},
      {"avg_speed_up", some(first, mean(sooner))},
      {"stddev_speed_up", some(first, deviation(sooner))}};
  fields.insert(fields.end(), own.begin(), own.end());
  return fields;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

Json list_of(const Samples& samples, bool as_nanoseconds) {
  Json list = Json::array();
  for (const double x : samples) list.push(as_nanoseconds ? Json(nanoseconds(x)) : Json(x));
  return list;
}

Json json_of(const BenchSubject& subject, const BenchRow& row) {
  Json json = Json::object();
  for (const auto& [name, value] : fields_of(subject, row)) json.set(name, value);
  json.set("samples_ns", list_of(row.result.seconds, true));
  if (row.result.test.kind != Kind::kFirstToken)
    return json.set("samples_ts", list_of(rates(row.result), false));
  return json.set("full_samples_ns", list_of(row.result.full_seconds, true));
}

}  // namespace

std::string markdown_of(const BenchReport& report) {
  const BenchSubject& s = report.subject;
  std::string out;
  for (const std::string& table : {rates_table(report), first_tokens_table(report)})
    if (!table.empty()) out += table + "\n";
  out += "build: promptcache " + s.build + ", " + s.instruction_set + "; states in " + s.kv_type +
         "\nmachine: " + printable(s.machine.cpu) + ", " + std::to_string(s.threads) +
         (s.threads == 1 ? " thread reads " : " threads read ") +
         format("%.1f GB/s", s.machine.read_bytes_per_s / 1e9);
  if (s.machine.cache_bytes) out += "; last-level cache " + format_size(s.machine.cache_bytes);
  return out + "\n";
}

std::string csv_of(const BenchReport& report) {
  std::string names, out;
  for (const BenchRow& row : report.rows) {
    std::string line, head;
    for (const auto& [name, value] : fields_of(report.subject, row)) {
      head += (head.empty() ? "" : ",") + name;
      line += (line.empty() ? "" : ",") + quoted(value.is_null() ? "" : value.text());
    }
    names = head + "\n";
    out += line + "\n";
  }
  return names + out;
}

Json json_of(const BenchReport& report) {
  Json tests = Json::array();
  for (const BenchRow& row : report.rows) tests.push(json_of(report.subject, row));
  return Json::object().set("tests", tests);
}

}  // namespace pc::cli
