#include <catch2/catch.hpp>

#include "tools/output/failure.h"
#include "tools/output/json.h"

using namespace pc::cli;

TEST_CASE("a report is read leniently") {
  const Json report =
      parse_report(R"({"name":"x","n":18446744073709551615,"yes":true,"list":[1,"two",false],
                                      "none":null,"neg":-1,"empty":"","object":{"a":1}})");
  CHECK(report["name"].text() == "x");
  CHECK(report["n"].number() == 18446744073709551615u);
  CHECK(report["yes"].truth());
  CHECK(report["yes"].text() == "yes");
  CHECK(report["list"].text() == "1, two, no");
  CHECK(report["list"].items().size() == 3);
  for (const char* key : {"none", "missing", "empty", "object"}) CHECK(report[key].text() == "-");
  CHECK(report["missing"]["deeper"].is_null());
  CHECK(report["name"]["not an object"].is_null());
  CHECK(report["name"].items().empty());
  CHECK(!report["name"].number());
  CHECK(!report["neg"].number());
  CHECK(!report["n"].truth());
}

TEST_CASE("a report that is not JSON is a failure, not a crash") {
  for (const char* text : {"", "{", "nonsense", "{\"a\":1}}"})
    CHECK_THROWS_AS(parse_report(text), Failure);
}

TEST_CASE("values are independent of their copies") {
  Json a = Json::object().set("n", 1u);
  Json b = a;
  b.set("n", 2u).set("m", "text");
  CHECK(a.dump() == R"({"n":1})");
  CHECK(b.dump() == R"({"n":2,"m":"text"})");
  Json list = Json::array();
  list.push(a);
  a.set("n", 3u);
  CHECK(list.dump() == R"([{"n":1}])");
}

TEST_CASE("what is written can be read, whatever the text") {
  const std::string text = std::string("\0\x1b\n\"\\", 5) + "ü";
  CHECK(parse_report(Json::object().set("t", text).dump())["t"].text() == text);
  CHECK(parse_report(Json("half \xc3").dump()).text() == "half \xef\xbf\xbd");
}
