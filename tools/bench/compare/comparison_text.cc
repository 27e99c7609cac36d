#include "tools/bench/compare/comparison_text.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "tools/output/sizes.h"
#include "tools/output/table.h"
#include "tools/output/terminal.h"

namespace pc::cli {
namespace {

using Verdict = RowPair::Verdict;

template <class... Numbers>
std::string format(const char* text, Numbers... numbers) {
  std::array<char, 96> out;
  std::snprintf(out.data(), out.size(), text, numbers...);
  return out.data();
}

const char* word_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFaster:
      return "faster";
    case Verdict::kSlower:
      return "slower";
    case Verdict::kTooFewSamples:
      return "too few samples";
    case Verdict::kWithinNoise:
      break;
  }
  return "within the noise";
}

// The middle one of a row's samples, as rows of its kind are read: "512.00 t/s", "12.34 ms".
std::string median_cell(const ReportRow& row) {
  const double seconds = quantile(row.seconds, 0.5);
  return row.is_first_token ? format("%.2f ms", seconds * 1e3)
                            : format("%.2f t/s", row.tokens / seconds);
}

std::string interval_cell(const Ratio& ratio) {
  if (!ratio.interval) return "-";
  return format("%.3f to %.3f", ratio.interval->low, ratio.interval->high);
}

std::string chance_cell(double chance) {
  return chance < 0.0001 ? "<0.0001" : format("%.4f", chance);
}

std::vector<std::string> name_cells(const ReportRow& row,
                                    const std::vector<std::string>& parameters) {
  std::vector<std::string> cells = {printable(row.test)};
  for (const std::string& value : parameter_values(row, parameters))
    cells.push_back(value.empty() ? "-" : printable(value));
  return cells;
}

std::string table_of(const Comparison& c) {
  using Align = Table::Align;
  std::vector<Table::Column> columns = {{"test"}};
  for (const std::string& field : c.parameters) columns.push_back({field});
  for (const char* const title : {"A", "B", "B / A", "95 %", "p"})
    columns.push_back({title, Align::kRight});
  columns.push_back({"speed of B"});
  Table table(std::move(columns));
  for (const RowPair& pair : c.pairs) {
    std::vector<std::string> cells = name_cells(pair.a, c.parameters);
    const std::vector<std::string> figures = {
        median_cell(pair.a),       median_cell(pair.b),      format("%.3f", pair.speed.middle),
        interval_cell(pair.speed), chance_cell(pair.chance), word_of(pair.verdict)};
    cells.insert(cells.end(), figures.begin(), figures.end());
    table.add_row(std::move(cells));
  }
  return table.text();
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  });
  return text;
}

// "DIFFERENT MACHINES: cpu_info is X in a.json, Y in b.json"
std::string differences_of(const Comparison& c, const ReportNames& names) {
  std::string out;
  for (const Difference& d : c.differences)
    out += "DIFFERENT " + upper(d.kind) + ": " + d.field + " is " + printable(d.a) + " in " +
           printable(names.a) + ", " + printable(d.b) + " in " + printable(names.b) + "\n";
  return out;
}

std::string busy_of(const std::optional<Busy>& busy, const std::string& name) {
  if (!busy) return "";
  return "BUSY MACHINE: load average " + format("%.2f", busy->load) + " before " + printable(name) +
         ", on " + format_count(static_cast<std::uint64_t>(busy->n_cpus), "CPU") +
         ": figures may be those of other work\n";
}

std::string only_of(const std::vector<ReportRow>& rows, const std::vector<std::string>& parameters,
                    const std::string& name) {
  std::string out;
  for (const ReportRow& row : rows) {
    std::string cells;
    for (const std::string& cell : name_cells(row, parameters))
      cells += (cells.empty() ? "" : ", ") + cell;
    out += "only in " + printable(name) + ": " + cells + "\n";
  }
  return out;
}

std::string last_lines(const Comparison& c, const ReportNames& names) {
  const auto count = [&](Verdict verdict) {
    return std::to_string(std::count_if(c.pairs.begin(), c.pairs.end(), [&](const RowPair& pair) {
      return pair.verdict == verdict;
    }));
  };
  std::string out = "\nA: " + printable(names.a) + ", B: " + printable(names.b) + "; " +
                    format_count(c.pairs.size(), "test") + ", " + count(Verdict::kFaster) +
                    " faster, " + count(Verdict::kSlower) + " slower, " +
                    count(Verdict::kWithinNoise) + " within the noise\n";
  if (c.samples_needed != 0)
    out += "too few samples to tell so many tests apart: repeat each " +
           std::to_string(c.samples_needed) + " times (-r " + std::to_string(c.samples_needed) +
           ") on both sides, or compare fewer\n";
  return out;
}

Json numbers_of(const ReportRow& row) {
  return Json::object()
      .set("samples", row.seconds.size())
      .set("median_ns", quantile(row.seconds, 0.5) * 1e9)
      .set("median_ts", row.is_first_token ? Json() : row.tokens / quantile(row.seconds, 0.5));
}

Json named(const ReportRow& row, const std::vector<std::string>& parameters) {
  Json json = Json::object().set("test", row.test);
  const auto values = parameter_values(row, parameters);
  for (std::size_t i = 0; i < parameters.size(); ++i) json.set(parameters[i], values[i]);
  return json;
}

Json json_of(const RowPair& pair, const std::vector<std::string>& parameters) {
  const auto& interval = pair.speed.interval;
  return named(pair.a, parameters)
      .set("a", numbers_of(pair.a))
      .set("b", numbers_of(pair.b))
      .set("ratio", pair.speed.middle)
      .set("ratio_low", interval ? Json(interval->low) : Json())
      .set("ratio_high", interval ? Json(interval->high) : Json())
      .set("p", pair.chance)
      .set("verdict", word_of(pair.verdict));
}

Json load_of(const std::optional<Busy>& busy) {
  return busy ? Json(busy->load) : Json();
}

Json list_of(const std::vector<ReportRow>& rows, const std::vector<std::string>& parameters) {
  Json list = Json::array();
  for (const ReportRow& row : rows) list.push(named(row, parameters));
  return list;
}

}  // namespace

std::string text_of(const Comparison& c, const ReportNames& names) {
  std::string warnings = differences_of(c, names) + busy_of(c.busy_a, names.a) +
                         (names.a == names.b ? "" : busy_of(c.busy_b, names.b));
  if (!warnings.empty()) warnings += "\n";
  return warnings + table_of(c) + only_of(c.only_a, c.parameters, names.a) +
         only_of(c.only_b, c.parameters, names.b) + last_lines(c, names);
}

Json json_of(const Comparison& c) {
  Json differences = Json::array(), tests = Json::array();
  for (const Difference& d : c.differences)
    differences.push(
        Json::object().set("kind", d.kind).set("field", d.field).set("a", d.a).set("b", d.b));
  for (const RowPair& pair : c.pairs) tests.push(json_of(pair, c.parameters));
  return Json::object()
      .set("level", kLevel)
      .set("differences", differences)
      .set("busy_a", load_of(c.busy_a))
      .set("busy_b", load_of(c.busy_b))
      .set("tests", tests)
      .set("only_a", list_of(c.only_a, c.parameters))
      .set("only_b", list_of(c.only_b, c.parameters))
      .set("samples_needed", c.samples_needed);
}

}  // namespace pc::cli
