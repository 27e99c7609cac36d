// What strangers send as JSON.

#include "tools/output/json.h"

#include <catch2/catch.hpp>
#include <string>

namespace pc::cli {
namespace {

std::string why_not(const std::string& text, std::size_t max_depth = 8) {
  std::string why;
  return Json::read_strictly(text, max_depth, &why) ? "" : why;
}

TEST_CASE("JSON is read to its depth and no further") {
  CHECK(why_not("[[[1]]]", 3).empty());
  CHECK(why_not("[[[[1]]]]", 3) == "more than 3 arrays and objects are in each other");
  CHECK(why_not("{\"a\":{\"b\":[1]}}", 3).empty());
  CHECK_FALSE(why_not(std::string(1 << 20, '[')).empty());
}

TEST_CASE("what is no JSON is refused with its place") {
  CHECK(why_not("{\"a\":1").find("byte 7") != std::string::npos);
  CHECK(why_not("{\"a\":01}").find("byte") != std::string::npos);
  CHECK(why_not("[1,]").find("byte 4") != std::string::npos);
  CHECK_FALSE(why_not("[NaN]").empty());
  CHECK_FALSE(why_not("\"\xff\"").empty());
  CHECK_FALSE(why_not("[1e999]").empty());
  CHECK_FALSE(why_not("").empty());
}

TEST_CASE("a key twice is refused, in its own object alone") {
  CHECK(why_not("{\"a\":1,\"a\":2}") == "an object has the key \"a\" twice");
  CHECK(why_not("{\"a\":{\"a\":1},\"b\":[{\"a\":1},{\"a\":2}]}").empty());
}

TEST_CASE("numbers are what they are") {
  std::string why;
  const Json json =
      *Json::read_strictly("[1,1.0,1.5,-3,18446744073709551615,9007199254740994.0]", 2, &why);
  const auto items = json.items();
  CHECK(items[0].integer() == 1);
  CHECK(items[1].integer() == 1);
  CHECK_FALSE(items[2].integer());
  CHECK(items[2].real() == 1.5);
  CHECK(items[3].integer() == -3);
  CHECK_FALSE(items[4].integer());  // beyond 63 bits
  CHECK_FALSE(items[5].integer());  // a double does not say which one
}

TEST_CASE("keys keep their order") {
  std::string why;
  const Json json = *Json::read_strictly("{\"b\":1,\"a\":2}", 2, &why);
  CHECK(json.keys() == std::vector<std::string>{"b", "a"});
  CHECK(json.dump() == "{\"b\":1,\"a\":2}");
}

}  // namespace
}  // namespace pc::cli
