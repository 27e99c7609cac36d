#include "tools/bench/bench_fields.h"

#include <cmath>
#include <utility>
#include <vector>

namespace pc::cli {
namespace {

using Kind = BenchCase::Kind;
using Fields = std::vector<std::pair<std::string, Json>>;

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
