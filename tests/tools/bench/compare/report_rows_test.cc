#include "tools/bench/compare/report_rows.h"

#include <catch2/catch.hpp>

#include "tests/tools/made_bench_report.h"
#include "tools/bench/bench_fields.h"
#include "tools/output/failure.h"

using namespace pc::cli;

namespace {

constexpr char kRow[] =
    R"({"build_commit":"abc","model_filename":"m.gguf","n_threads":2,"flash_attn":-1,)"
    R"("n_prompt":16,"n_gen":4,"n_depth":8,"samples_ns":[1000,2000],"samples_ts":[2e7,1e7]})";

std::string refused(const std::string& text) {
  try {
    read_report(text, "x.json");
  } catch (const Failure& failure) {
    CHECK(std::string(failure.what()).find("it must be what promptcache bench or llama-bench") !=
          std::string::npos);
    return failure.place + ": " + failure.what();
  }
  return "";
}

std::string replaced(const std::string& from, const std::string& to) {
  std::string row = kRow;
  return row.replace(row.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("what bench writes is read in each of its forms") {
  const BenchReports reports = {made_report()};
  for (const std::string& text : {rows_of(reports).dump(), json_of(reports).dump(),
                                  json_lines_of(reports), "\n " + json_lines_of(reports) + "\n"}) {
    const auto rows = read_report(text, "x");
    REQUIRE(rows.size() == 4);
    CHECK(rows[0].test == "pp512");
    CHECK(rows[0].tokens == 512);
    CHECK(rows[0].seconds == Samples{1, 2});
    CHECK(rows[0].facts.at("cpu_info") == "A \"fast\" CPU, of sorts");
    CHECK(rows[2].test == "4 x tg100 @ d64");
    CHECK(rows[2].tokens == 400);
    CHECK(rows[3].test == "ttft32 @ d1024");
    CHECK(rows[3].is_first_token);
  }
}

TEST_CASE("rows of llama-bench are named as it names them") {
  const auto rows = read_report("[" + std::string(kRow) + "]", "x");
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].test == "pp16+tg4 @ d8");
  CHECK(rows[0].tokens == 20);
  CHECK(rows[0].seconds == Samples{1000 * 1e-9, 2000 * 1e-9});
  CHECK(rows[0].facts.at("flash_attn") == "-1");
  CHECK(rows[0].facts.count("samples_ns") == 0);
}

TEST_CASE("what is no report is refused with its place") {
  CHECK(refused("").find("x.json: the report cannot be read") == 0);
  CHECK(refused("[1,").find("x.json: the report cannot be read") == 0);
  CHECK(refused("[]").find("x.json: the report has no row") == 0);
  CHECK(refused("{\"tests\":{}}").find("x.json: the report has no row") == 0);
  CHECK(refused("3").find("x.json: the report has no row") == 0);
  CHECK(refused("[3]").find("x.json: row 1: a row is not an object") == 0);
  CHECK(refused(std::string(kRow) + "\n\n{").find("x.json:3: the line cannot be read") == 0);
  CHECK(refused("[" + std::string(kRow) + ", {\"n_depth\":0}]")
            .find("x.json: row 2: the row has no whole number n_prompt") == 0);
  CHECK(refused(replaced("16", "1.5")).find("x.json:1: the row has no whole number n_prompt") == 0);
  CHECK(refused(replaced("16", "-1")).find("no whole number n_prompt") != std::string::npos);
  CHECK(refused(replaced("1000,2000", "")).find("the row has no samples_ns") != std::string::npos);
  for (const std::string sample : {"0", "-5", "1e-300", "1e300", "null", "\"7\""})
    CHECK(refused(replaced("1000", sample)).find("is not a number from 1 to 1e18") !=
          std::string::npos);
  CHECK(refused(replaced("\"n_gen\"", "\"n_prompt\"")).find("x.json: the report") == 0);
}

TEST_CASE("more samples or rows than can be compared are refused") {
  std::string samples = "1";
  for (int i = 0; i < 2000; ++i) samples += ",1";
  CHECK(refused(replaced("1000,2000", samples)).find("more than 2000 samples") !=
        std::string::npos);
  std::string lines;
  for (int i = 0; i < 2001; ++i) lines += std::string(kRow) + "\n";
  CHECK(refused(lines).find("x.json: the report has more than 2000 rows") == 0);
}
