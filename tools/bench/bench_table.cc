#include "tools/bench/bench_table.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "tools/output/markdown.h"
#include "tools/output/sizes.h"
#include "tools/output/terminal.h"

namespace pc::cli {
namespace {

using Kind = BenchCase::Kind;

template <class... Numbers>
std::string format(const char* text, Numbers... numbers) {
  std::array<char, 96> out;
  std::snprintf(out.data(), out.size(), text, numbers...);
  return out.data();
}

std::string spread(const Samples& samples, double unit = 1) {
  return format("%.2f ± %.2f", mean(samples) * unit, deviation(samples) * unit);
}

std::string size_cell(std::uint64_t bytes) {
  const double mib = static_cast<double>(bytes) / (1 << 20);
  return mib < 1024 ? format("%.2f MiB", mib) : format("%.2f GiB", mib / 1024);
}

std::string parameters_cell(std::uint64_t n) {
  const double millions = static_cast<double>(n) / 1e6;
  return millions < 1000 ? format("%.2f M", millions) : format("%.2f B", millions / 1000);
}

// Of the reports; those that differ are for columns, one that all have for the last lines.
template <class Value>
std::vector<Value> distinct(const BenchReports& reports, const auto& value_of) {
  std::vector<Value> values;
  for (const BenchReport& report : reports)
    if (const Value value = value_of(report.subject);
        std::find(values.begin(), values.end(), value) == values.end())
      values.push_back(value);
  return values;
}

std::vector<std::string> kv_types(const BenchReports& reports) {
  return distinct<std::string>(reports, [](const BenchSubject& s) { return s.kv_type; });
}

// What every line of a table begins with.
std::vector<std::string> subject_cells(const BenchSubject& s, bool with_types) {
  std::string backend = s.backend == "cpu" ? "CPU" : s.backend;
  std::vector<std::string> cells = {printable(s.model_type), size_cell(s.weight_bytes),
                                    parameters_cell(s.n_parameters), printable(backend),
                                    std::to_string(s.threads)};
  if (with_types) cells.insert(cells.end(), {s.kv_type, s.kv_type});
  return cells;
}

MarkdownTable table_with(bool types, const std::vector<MarkdownTable::Column>& more) {
  std::vector<MarkdownTable::Column> columns = {
      {"model", false}, {"size"}, {"params"}, {"backend", false}, {"threads"}};
  if (types) columns.insert(columns.end(), {{"type_k"}, {"type_v"}});
  columns.push_back({"test"});
  columns.insert(columns.end(), more.begin(), more.end());
  return MarkdownTable(std::move(columns));
}

std::vector<std::string> rate_cells(const BenchRow& row) {
  const Samples rate = rates(row.result);
  std::vector<std::string> cells = {name_of(row.result.test), spread(rate), "-", "-"};
  if (!row.floor_seconds) return cells;
  const double floor = tokens_of(row.result.test) / *row.floor_seconds;
  cells[2] = format("%.2f", floor);
  cells[3] = format("%.0f %%", 100 * mean(rate) / floor);
  return cells;
}

std::vector<std::string> first_token_cells(const BenchRow& row) {
  return {name_of(row.result.test), spread(row.result.full_seconds, 1e3),
          spread(row.result.seconds, 1e3), spread(speed_ups(row.result)),
          row.floor_seconds ? format("%.2f", *row.floor_seconds * 1e3) : "-"};
}

// Of the rows that are first tokens, or of the others.
std::string table_of(const BenchReports& reports, bool first_tokens, MarkdownTable table) {
  const bool with_types = kv_types(reports).size() > 1;
  for (const BenchReport& report : reports) {
    for (const BenchRow& row : report.rows) {
      if ((row.result.test.kind == Kind::kFirstToken) != first_tokens) continue;
      std::vector<std::string> cells = subject_cells(report.subject, with_types);
      const auto figures = first_tokens ? first_token_cells(row) : rate_cells(row);
      cells.insert(cells.end(), figures.begin(), figures.end());
      table.add_row(std::move(cells));
    }
  }
  return table.text();
}

std::string build_line(const BenchReports& reports) {
  const BenchSubject& s = reports.front().subject;
  std::string types;
  for (const std::string& type : kv_types(reports)) types += (types.empty() ? "" : ", ") + type;
  return "build: promptcache " + s.build + ", " + s.instruction_set + "; states in " + types + "\n";
}

// Each number of threads reads memory at a speed of its own.
std::string machine_line(const BenchReports& reports) {
  const Machine& machine = reports.front().subject.machine;
  std::string line = "machine: " + printable(machine.cpu);
  const auto threads =
      distinct<std::uint32_t>(reports, [](const BenchSubject& s) { return s.threads; });
  for (const std::uint32_t n : threads) {
    const auto with_n =
        std::find_if(reports.begin(), reports.end(),
                     [n](const BenchReport& report) { return report.subject.threads == n; });
    line += ", " + std::to_string(n) + (n == 1 ? " thread reads " : " threads read ") +
            format("%.1f GB/s", with_n->subject.machine.read_bytes_per_s / 1e9);
  }
  if (machine.cache_bytes) line += "; last-level cache " + format_size(machine.cache_bytes);
  return line + "\n";
}

std::string system_line(const BenchSubject& s) {
  const MachineFacts& f = s.facts;
  const auto load = [](const std::optional<double>& average) {
    return average ? format("%.2f", *average) : "unknown";
  };
  return "system: kernel " + printable(f.kernel) + ", " + format_count(f.n_cores, "core") + " on " +
         format_count(f.n_sockets, "socket") + ", governor " + printable(f.governor) + ", memory " +
         format_size(f.memory_bytes) + ", huge pages " + printable(f.huge_pages) +
         "; load average " + load(s.load_before) + " before, " + load(s.load_after) + " after\n";
}

}  // namespace

std::string markdown_of(const BenchReports& reports) {
  if (reports.empty()) return "";
  const bool types = kv_types(reports).size() > 1;
  std::string out;
  for (const std::string& table :
       {table_of(reports, false, table_with(types, {{"t/s"}, {"memory floor, t/s"}, {"reached"}})),
        table_of(
            reports, true,
            table_with(
                types,
                {{"full prefill, ms"}, {"cached, ms"}, {"times sooner"}, {"memory floor, ms"}}))})
    if (!table.empty()) out += table + "\n";
  return out + build_line(reports) + machine_line(reports) + system_line(reports.front().subject);
}

}  // namespace pc::cli
