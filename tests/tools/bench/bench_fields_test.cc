#include "tools/bench/bench_fields.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/tools/made_bench_report.h"

using namespace pc::cli;

namespace {

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const char c : text) c == '\n' ? lines.emplace_back() : lines.back() += c, void();
  return lines;
}

// The cells of one line of CSV, or nothing where it is none.
std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> cells;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    std::string cell;
    if (i < line.size() && line[i] == '"') {
      for (++i; i < line.size() && (line[i] != '"' || line.substr(i, 2) == "\"\""); ++i) {
        if (line[i] == '"') ++i;
        cell += line[i];
      }
      if (i == line.size() || (++i < line.size() && line[i] != ',')) return {};
    } else {
      while (i < line.size() && line[i] != ',') cell += line[i++];
    }
    cells.push_back(cell);
  }
  return cells;
}

std::string field(const std::string& csv, std::size_t row, const std::string& name) {
  const auto names = cells(lines(csv).front()), values = cells(lines(csv)[row + 1]);
  REQUIRE(names.size() == values.size());
  const auto found = std::find(names.begin(), names.end(), name);
  REQUIRE(found != names.end());
  return values[static_cast<std::size_t>(found - names.begin())];
}

}  // namespace

TEST_CASE("CSV quotes every value, as llama-bench does") {
  const std::string csv = csv_of({made_report()});
  REQUIRE(lines(csv).size() == 6);  // names, four rows, the end
  CHECK(lines(csv)[0].find("n_prompt,n_gen,n_depth,test_time,avg_ns,stddev_ns,avg_ts,stddev_ts") !=
        std::string::npos);
  CHECK(lines(csv)[1].find("\"A \"\"fast\"\" CPU, of sorts\"") != std::string::npos);
  CHECK(field(csv, 0, "cpu_info") == "A \"fast\" CPU, of sorts");
  CHECK(field(csv, 0, "test") == "pp512");
  CHECK(field(csv, 0, "avg_ns") == "1500000000");
  CHECK(field(csv, 0, "stddev_ns") == "707106781");
  CHECK(field(csv, 0, "avg_ts") == "384.0");
  CHECK(field(csv, 0, "floor_ns").empty());
  CHECK(field(csv, 1, "n_gen") == "100");
  CHECK(field(csv, 1, "floor_ns") == "2000000000");
  CHECK(field(csv, 2, "n_sessions") == "4");
  CHECK(field(csv, 2, "avg_ts") == "50.0");
  CHECK(field(csv, 2, "avg_speed_up").empty());
  CHECK(field(csv, 3, "avg_ts").empty());
  CHECK(field(csv, 3, "full_avg_ns") == "2500000000");
  CHECK(field(csv, 3, "avg_speed_up") == "15.0");
}

TEST_CASE("JSON has the fields of CSV, and each repetition") {
  const auto tests = parse_report(json_of({made_report()}).dump())["tests"].items();
  REQUIRE(tests.size() == 4);
  const std::string csv = csv_of({made_report()});
  for (const std::string& name : cells(lines(csv).front())) {
    const Json value = tests[1][name];
    CHECK((value.is_null() ? "" : value.text()) == field(csv, 1, name));
  }
  CHECK(tests[0]["floor_ns"].is_null());
  CHECK(tests[0]["samples_ns"].text() == "1000000000, 2000000000");
  CHECK(tests[0]["samples_ts"].text() == "512.0, 256.0");
  CHECK(tests[3]["full_samples_ns"].text() == "1000000000, 4000000000");
  CHECK(tests[3]["samples_ts"].is_null());
}

TEST_CASE("rows say how samples scatter, and what machine they are of") {
  const auto row = rows_of({made_report()}).items().front();
  CHECK(row["median_ns"].number() == 1'500'000'000);
  CHECK(row["p5_ns"].number() == 1'050'000'000);
  CHECK(row["p95_ns"].number() == 1'950'000'000);
  CHECK(row["median_ts"].real() == 384);
  CHECK(row["p5_ts"].real() == Approx(268.8));
  CHECK(row["p95_ts"].real() == Approx(499.2));
  CHECK(row["n_cpus"].number() == 8);
  CHECK(row["n_cores"].number() == 4);
  CHECK(row["n_sockets"].number() == 1);
  CHECK(row["kernel"].text() == "6.1.0");
  CHECK(row["governor"].text() == "powersave");
  CHECK(row["memory_bytes"].number() == std::uint64_t{16} << 30);
  CHECK(row["huge_pages"].text() == "madvise");
  CHECK(row["load_before"].real() == 0.25);
  CHECK(row["load_after"].real() == 1.75);
  CHECK(row["compiler"].text() == "C++ 12.2.0");
  BenchReport unknown = made_report();
  unknown.subject.load_after.reset();
  CHECK(rows_of({unknown}).items().front()["load_after"].is_null());
}

TEST_CASE("lines of JSON are the rows, of all reports") {
  const std::string text = json_lines_of({made_report(), made_report()});
  const auto rows = rows_of({made_report(), made_report()}).items();
  REQUIRE(lines(text).size() == 9);  // and the end
  REQUIRE(rows.size() == 8);
  for (std::size_t i = 0; i < rows.size(); ++i) CHECK(lines(text)[i] == rows[i].dump());
}

TEST_CASE("SQL makes a table and puts the rows into it") {
  BenchReport report = made_report();
  report.subject.machine.cpu = "it's";
  const std::string sql = sql_of({report});
  CHECK(sql.starts_with("CREATE TABLE IF NOT EXISTS promptcache_bench (\n  build_version TEXT,\n"));
  CHECK(sql.find("\n  n_threads NUMERIC,\n") != sql.npos);
  CHECK(sql.find("'it''s'") != sql.npos);
  CHECK(sql.find(", NULL") != sql.npos);
  std::size_t inserts = 0;
  for (const std::string& line : lines(sql))
    inserts += line.starts_with("INSERT INTO promptcache_bench (");
  CHECK(inserts == 4);
}

TEST_CASE("without a result there are no rows") {
  const BenchReports none = {{made_report().subject, {}}};
  CHECK(csv_of(none).empty());
  CHECK(json_lines_of(none).empty());
  CHECK(sql_of(none).empty());
  CHECK(json_of(none).dump() == R"({"tests":[]})");
}
