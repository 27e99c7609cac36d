#include "tools/bench/bench_table.h"

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

// What every line of a table begins with.
std::vector<std::string> subject_cells(const BenchSubject& s) {
  std::string backend = s.backend == "cpu" ? "CPU" : s.backend;
  return {printable(s.model_type), size_cell(s.weight_bytes), parameters_cell(s.n_parameters),
          printable(backend), std::to_string(s.threads)};
}

MarkdownTable table_with(std::vector<MarkdownTable::Column> more) {
  std::vector<MarkdownTable::Column> columns = {{"model", false},   {"size"},    {"params"},
                                                {"backend", false}, {"threads"}, {"test"}};
  columns.insert(columns.end(), more.begin(), more.end());
  return MarkdownTable(std::move(columns));
}

std::string rates_table(const BenchReport& report) {
  MarkdownTable table = table_with({{"t/s"}, {"memory floor, t/s"}, {"reached"}});
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
  MarkdownTable table =
      table_with({{"full prefill, ms"}, {"cached, ms"}, {"times sooner"}, {"memory floor, ms"}});
  for (const BenchRow& row : report.rows) {
    if (row.result.test.kind != Kind::kFirstToken) continue;
    std::vector<std::string> cells = subject_cells(report.subject);
    cells.insert(cells.end(), {name_of(row.result.test), spread(row.result.full_seconds, 1e3),
                               spread(row.result.seconds, 1e3), spread(speed_ups(row.result)),
                               row.floor_seconds ? format("%.2f", *row.floor_seconds * 1e3) : "-"});
    table.add_row(std::move(cells));
  }
  return table.text();
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

}  // namespace pc::cli
