#include "tools/bench/compare/comparison_text.h"

#include <catch2/catch.hpp>

using namespace pc::cli;

namespace {

ReportRow row(const std::string& test, const Samples& seconds, const std::string& cpu) {
  ReportRow row;
  row.test = test;
  row.is_first_token = test.starts_with("ttft");
  row.tokens = row.is_first_token ? 0 : 100;
  row.seconds = seconds;
  row.facts = {{"cpu_info", cpu}, {"build_version", "1"}};
  return row;
}

Comparison made() {
  const Samples fast = {1, 1.25, 1, 1, 1}, slow = {2, 2, 2, 2.5, 2};
  return compare_reports(
      {row("pp100", fast, "X"), row("ttft8 @ d64", slow, "X"), row("old", fast, "X")},
      {row("pp100", slow, "Y"), row("ttft8 @ d64", fast, "Y"), row("new", fast, "Y")});
}

}  // namespace

TEST_CASE("a comparison for people") {
  CHECK(text_of(made(), {"a.json", "b.json"}) ==
        "DIFFERENT MACHINES: cpu_info is X in a.json, Y in b.json\n"
        "\n"
        "test                  A           B  B / A            95 %       p  speed of B\n"
        "pp100        100.00 t/s   50.00 t/s  0.500  0.400 to 0.625  0.0159  slower\n"
        "ttft8 @ d64  2000.00 ms  1000.00 ms  2.000  1.600 to 2.500  0.0159  faster\n"
        "only in a.json: old\n"
        "only in b.json: new\n"
        "\n"
        "A: a.json, B: b.json; 2 tests, 1 faster, 1 slower, 0 within the noise\n");
}

TEST_CASE("too few samples are said, and how many would do") {
  const Comparison c = compare_reports({row("pp", {1}, "X")}, {row("pp", {2}, "X")});
  const std::string text = text_of(c, {"a", "b"});
  CHECK(text.find("too few samples\n") != text.npos);
  CHECK(text.find("repeat each 4 times (-r 4) on both sides, or compare fewer\n") != text.npos);
}

TEST_CASE("a chance that four digits cannot show is not shown as none") {
  const Comparison c =
      compare_reports({row("pp", Samples(20, 1), "X")}, {row("pp", Samples(20, 2), "X")});
  CHECK(text_of(c, {"a", "b"}).find("  <0.0001  slower\n") != std::string::npos);
}

TEST_CASE("a busy machine is said before all figures") {
  Comparison c = made();
  c.busy_b = Busy{3.5, 2};
  const std::string text = text_of(c, {"a.json", "b.json"});
  CHECK(
      text.find("b.json\nBUSY MACHINE: load average 3.50 before b.json, on 2 CPUs: figures may be "
                "those of other work\n\ntest ") != text.npos);
  CHECK(json_of(c)["busy_b"].real() == 3.5);
  CHECK(json_of(c)["busy_a"].is_null());
}

TEST_CASE("a comparison for programs") {
  const Json json = json_of(made());
  CHECK(json["level"].real() == 0.05);
  CHECK(json["differences"].items().front()["field"].text() == "cpu_info");
  const Json first = json["tests"].items().front();
  CHECK(first["test"].text() == "pp100");
  CHECK(first["verdict"].text() == "slower");
  CHECK(first["ratio"].real() == 0.5);
  CHECK(first["a"]["median_ts"].real() == 100);
  CHECK(json["tests"].items().back()["a"]["median_ts"].is_null());
  CHECK(json["only_a"].items().front()["test"].text() == "old");
  CHECK(json["only_b"].items().front()["test"].text() == "new");
}
