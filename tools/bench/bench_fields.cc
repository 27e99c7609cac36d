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

Json or_null(bool there, const Json& value) {
  return there ? value : Json();
}

Fields machine_fields(const BenchSubject& s) {
  const MachineFacts& f = s.facts;
  return {{"n_cpus", f.n_cpus},
          {"n_cores", f.n_cores},
          {"n_sockets", f.n_sockets},
          {"kernel", f.kernel},
          {"governor", f.governor},
          {"memory_bytes", f.memory_bytes},
          {"huge_pages", f.huge_pages},
          {"n_huge_pages", f.n_huge_pages},
          {"load_before", or_null(s.load_before.has_value(), s.load_before.value_or(0))},
          {"load_after", or_null(s.load_after.has_value(), s.load_after.value_or(0))},
          {"cache_bytes", s.machine.cache_bytes},
          {"read_bytes_per_s", std::round(s.machine.read_bytes_per_s)}};
}

Fields subject_fields(const BenchSubject& s) {
  return {{"build_version", s.build},
          {"isa", s.instruction_set},
          {"compiler", s.compiler},
          {"cpu_info", s.machine.cpu},
          {"backends", s.backend == "cpu" ? "CPU" : s.backend},
          {"model_filename", s.model_path},
          {"model_type", s.model_type},
          {"model_size", s.weight_bytes},
          {"model_n_params", s.n_parameters},
          {"n_threads", s.threads},
          {"cpu_mask", s.cpu_mask},
          {"prio", s.priority},
          {"warmup", s.warms_up},
          {"type_k", s.kv_type},
          {"type_v", s.kv_type},
          {"precision", s.precision}};
}

// Mean and deviation, then percentiles, of what ends in `unit`: "avg_ns", "p5_ns".
Fields mean_fields(const std::string& unit, const Samples& samples, const auto& value_of) {
  return {{"avg_" + unit, value_of(mean(samples))},
          {"stddev_" + unit, value_of(deviation(samples))}};
}

Fields percentile_fields(const std::string& unit, const Samples& samples, const auto& value_of) {
  return {{"p5_" + unit, value_of(quantile(samples, 0.05))},
          {"median_" + unit, value_of(quantile(samples, 0.5))},
          {"p95_" + unit, value_of(quantile(samples, 0.95))}};
}

Fields test_fields(const BenchRow& row) {
  const BenchCase& test = row.result.test;
  return {{"test", name_of(test)}, {"n_sessions", test.n_sessions}, {"n_prompt", test.n_prompt},
          {"n_gen", test.n_gen},   {"n_depth", test.depth},         {"test_time", row.time}};
}

// The rate of a first token would be none of anything: its fields are empty there, as are those of
// the full prefill elsewhere.
Fields figure_fields(const BenchRow& row) {
  const BenchResult& r = row.result;
  const bool first = r.test.kind == Kind::kFirstToken;
  const Samples rate = rates(r), sooner = first ? speed_ups(r) : Samples();
  const auto time = [](double seconds) { return Json(nanoseconds(seconds)); };
  const auto speed = [&](double value) { return or_null(!first, value); };
  Fields fields;
  for (const Fields& more :
       {mean_fields("ns", r.seconds, time), mean_fields("ts", rate, speed),
        percentile_fields("ns", r.seconds, time), percentile_fields("ts", rate, speed)})
    fields.insert(fields.end(), more.begin(), more.end());
  const Fields own = {{"floor_ns", or_null(row.floor_seconds.has_value(),
                                           nanoseconds(row.floor_seconds.value_or(0)))},
                      {"full_avg_ns", or_null(first, nanoseconds(mean(r.full_seconds)))},
                      {"full_stddev_ns", or_null(first, nanoseconds(deviation(r.full_seconds)))},
                      {"avg_speed_up", or_null(first, mean(sooner))},
                      {"stddev_speed_up", or_null(first, deviation(sooner))}};
  fields.insert(fields.end(), own.begin(), own.end());
  return fields;
}

Fields fields_of(const BenchSubject& subject, const BenchRow& row) {
  Fields fields = subject_fields(subject);
  for (const Fields& more : {machine_fields(subject), test_fields(row), figure_fields(row)})
    fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

void each_row(const BenchReports& reports, const auto& visit) {
  for (const BenchReport& report : reports)
    for (const BenchRow& row : report.rows) visit(report.subject, row);
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

// In SQL; a quote is written twice.
std::string sql_value(const Json& value) {
  if (value.is_null()) return "NULL";
  if (value.is_number()) return value.text();
  std::string out = "'";
  for (const char c : value.text()) out += c == '\'' ? "''" : std::string(1, c);
  return out + "'";
}

// Numbers are read as such whichever kind they are of: one that is missing has no kind.
std::string sql_table(const Fields& fields) {
  std::string columns;
  for (const auto& [name, value] : fields)
    columns +=
        (columns.empty() ? "  " : ",\n  ") + name + (value.is_string() ? " TEXT" : " NUMERIC");
  return "CREATE TABLE IF NOT EXISTS promptcache_bench (\n" + columns + "\n);\n\n";
}

}  // namespace

std::string csv_of(const BenchReports& reports) {
  std::string names, out;
  each_row(reports, [&](const BenchSubject& subject, const BenchRow& row) {
    std::string line, head;
    for (const auto& [name, value] : fields_of(subject, row)) {
      head += (head.empty() ? "" : ",") + name;
      line += (line.empty() ? "" : ",") + quoted(value.is_null() ? "" : value.text());
    }
    names = head + "\n";
    out += line + "\n";
  });
  return names + out;
}

Json rows_of(const BenchReports& reports) {
  Json rows = Json::array();
  each_row(reports, [&](const BenchSubject& subject, const BenchRow& row) {
    rows.push(json_of(subject, row));
  });
  return rows;
}

Json json_of(const BenchReports& reports) {
  return Json::object().set("tests", rows_of(reports));
}

std::string json_lines_of(const BenchReports& reports) {
  std::string out;
  for (const Json& row : rows_of(reports).items()) out += row.dump() + "\n";
  return out;
}

std::string sql_of(const BenchReports& reports) {
  std::string table, out;
  each_row(reports, [&](const BenchSubject& subject, const BenchRow& row) {
    const Fields fields = fields_of(subject, row);
    std::string names, values;
    for (const auto& [name, value] : fields) {
      names += (names.empty() ? "" : ", ") + name;
      values += (values.empty() ? "" : ", ") + sql_value(value);
    }
    if (table.empty()) table = sql_table(fields);
    out += "INSERT INTO promptcache_bench (" + names + ") VALUES (" + values + ");\n";
  });
  return table + out;
}

}  // namespace pc::cli
