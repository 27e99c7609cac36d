#include "tools/bench/compare/report_rows.h"

#include <algorithm>
#include <optional>

#include "tools/bench/bench_case.h"
#include "tools/output/failure.h"
#include "tools/output/json.h"

namespace pc::cli {
namespace {

constexpr std::size_t kMostDepth = 16;     // of arrays and objects; a report has four
constexpr double kMostNanoseconds = 1e18;  // 32 years, so that no ratio leaves what a double holds
constexpr char kWayOut[] =
    "; it must be what promptcache bench or llama-bench writes with -o json or -o jsonl";

[[noreturn]] void refuse(const std::string& place, const std::string& why) {
  throw Failure(kFailure, why + kWayOut, place);
}

std::uint32_t count_in(const Json& row, const std::string& field, const std::string& place) {
  const auto number = row[field].number();
  if (!number || *number > 0xffffffff) refuse(place, "the row has no whole number " + field);
  return static_cast<std::uint32_t>(*number);
}

// As llama-bench, whose rows have no name, would call it; or as ours is called.
BenchCase case_of(const Json& row, const std::string& place) {
  BenchCase test;
  test.depth = count_in(row, "n_depth", place);
  test.n_prompt = count_in(row, "n_prompt", place);
  test.n_gen = count_in(row, "n_gen", place);
  if (row.has("n_sessions")) test.n_sessions = count_in(row, "n_sessions", place);
  using Kind = BenchCase::Kind;
  test.kind = test.n_gen == 0      ? Kind::kPrefill
              : test.n_prompt == 0 ? Kind::kDecode
                                   : Kind::kPromptThenGen;
  if (row["test"].view().starts_with("ttft")) test.kind = Kind::kFirstToken;
  return test;
}

Samples seconds_of(const Json& row, const std::string& place) {
  Samples seconds;
  for (const Json& sample : row["samples_ns"].items()) {
    if (!sample.is_number() || !(sample.real() >= 1 && sample.real() <= kMostNanoseconds))
      refuse(place, "a sample in samples_ns is not a number from 1 to 1e18");
    seconds.push_back(sample.real() * 1e-9);
  }
  if (seconds.empty()) refuse(place, "the row has no samples_ns");
  if (seconds.size() > kMostSamples)
    refuse(place, "the row has more than " + std::to_string(kMostSamples) + " samples");
  return seconds;
}

ReportRow row_of(const Json& json, const std::string& place) {
  if (!json.is_object()) refuse(place, "a row is not an object");
  const BenchCase test = case_of(json, place);
  ReportRow row;
  row.test = name_of(test);
  row.is_first_token = test.kind == BenchCase::Kind::kFirstToken;
  row.tokens = row.is_first_token ? 0 : (double{1} * test.n_prompt + test.n_gen) * test.n_sessions;
  row.seconds = seconds_of(json, place);
  for (const auto& [name, value] : json.members())
    if (!value.is_array() && !value.is_object() && !value.is_null()) row.facts[name] = value.text();
  return row;
}

std::vector<ReportRow> rows_of(const Json& list, const std::string& name) {
  std::vector<ReportRow> rows;
  std::size_t n = 0;
  for (const Json& row : list.items())
    rows.push_back(row_of(row, name + ": row " + std::to_string(++n)));
  return rows;
}

std::optional<Json> json_of(std::string_view text, std::string* why) {
  return Json::read_strictly(text, kMostDepth, why);
}

// A row a line; blank ones are none.
std::vector<ReportRow> rows_of_lines(std::string_view text, const std::string& name) {
  std::vector<ReportRow> rows;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    const std::string place = name + ":" + std::to_string(++number);
    begin = end + 1;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    std::string why;
    const auto json = json_of(line, &why);
    if (!json) refuse(place, "the line cannot be read: " + why);
    rows.push_back(row_of(*json, place));
  }
  return rows;
}

// Whether the first line that is not blank is an object of its own.
bool begins_with_a_row(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return false;
  std::string why;
  const auto json = json_of(text.substr(begin, text.find('\n', begin) - begin), &why);
  return json && json->is_object() && !json->has("tests");
}

}  // namespace

std::vector<ReportRow> read_report(std::string_view text, const std::string& name) {
  std::vector<ReportRow> rows;
  if (begins_with_a_row(text)) {
    rows = rows_of_lines(text, name);
  } else {
    std::string why;
    const auto json = json_of(text, &why);
    if (!json) refuse(name, "the report cannot be read: " + why);
    rows = rows_of(json->is_array() ? *json : (*json)["tests"], name);
  }
  if (rows.empty()) refuse(name, "the report has no row");
  if (rows.size() > kMostRows)
    refuse(name, "the report has more than " + std::to_string(kMostRows) + " rows");
  return rows;
}

}  // namespace pc::cli
