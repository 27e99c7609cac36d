// Values of JSON, and what strangers send as such.

#include "runtime/json/json_value.h"

#include <catch2/catch.hpp>
#include <string>

namespace pc {
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
  CHECK(why_not("[1e999]") == "a number is beyond what can be computed with");
  CHECK_FALSE(why_not("").empty());
}

TEST_CASE("what is too deep is over a limit, and all else that is refused is corrupt") {
  CHECK(Json::parse("[[1]]", 2).value().dump() == "[[1]]");
  CHECK(Json::parse("[[[1]]]", 2).error().code == Code::kUnsupported);
  for (const char* const text : {"[[1]", "", "[1e999]", "{\"a\":1,\"a\":1}", "[[],]"})
    CHECK(Json::parse(text, 2).error().code == Code::kCorrupt);
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

TEST_CASE("of a key that comes twice the last counts where that is asked for") {
  std::string why;
  const auto json =
      Json::read_strictly(R"({"a":[1],"b":2,"a":{"c":3}})", 3, &why, Json::Twice::kLastCounts);
  REQUIRE(json);
  CHECK(json->dump() == R"({"a":{"c":3},"b":2})");
}

TEST_CASE("a value may become a part of itself, and of others") {
  Json object = Json::object().set("a", Json::array().push(1).push("x"));
  object.set("b", object);
  CHECK(object.dump() == R"({"a":[1,"x"],"b":{"a":[1,"x"]}})");
  object.set("a", object["b"]);
  CHECK(object.dump() == R"({"a":{"a":[1,"x"]},"b":{"a":[1,"x"]}})");
  Json list = Json::array();
  list.push(list).push(object["a"]["a"]);
  CHECK(list.dump() == R"([[],[1,"x"]])");
}

TEST_CASE("what is read leniently is null where it is no JSON, or too deep") {
  CHECK(Json::read("[1").is_null());
  CHECK(Json::read(std::string(1000, '[') + std::string(1000, ']')).is_array());
  CHECK(Json::read(std::string(1001, '[') + std::string(1001, ']')).is_null());
}

TEST_CASE("keys keep their order") {
  std::string why;
  const Json json = *Json::read_strictly("{\"b\":1,\"a\":2}", 2, &why);
  CHECK(json.keys() == std::vector<std::string>{"b", "a"});
  CHECK(json.dump() == "{\"b\":1,\"a\":2}");
}

// Where each key was looked for among all before it, or in all of another object, these would take
// minutes.
TEST_CASE("an object may have hundreds of thousands of members") {
  constexpr int kMembers = 300'000;
  const auto key = [](int i) { return "member_" + std::to_string(1'000'000 + i); };
  std::string forwards = "{", backwards = "{";
  for (int i = 0; i < kMembers; ++i) {
    forwards += "\"" + key(i) + "\":" + std::to_string(i) + ",";
    const int last = kMembers - 1 - i;
    backwards += "\"" + key(last) + "\":" + std::to_string(last) + ",";
  }
  std::string why;
  const auto a = Json::read_strictly(forwards + "\"a\":1}", 1, &why);
  const auto b =
      Json::read_strictly(backwards + "\"a\":2,\"a\":1}", 1, &why, Json::Twice::kLastCounts);
  REQUIRE((a && b));
  CHECK(*a == *b);
  const auto members = a->members();
  REQUIRE(members.size() == kMembers + 1);
  CHECK(members[17].first == key(17));
  CHECK(members[17].second.integer() == 17);
  CHECK(Json::object(b->members()) == *a);
  CHECK_FALSE(Json::read_strictly(forwards + "\"" + key(0) + "\":0}", 1, &why));
}

TEST_CASE("objects are the same by their members, whatever the order") {
  const Json a = Json::read(R"({"x":1,"y":{"p":[1],"q":null}})");
  CHECK(a == Json::read(R"({"y":{"q":null,"p":[1]},"x":1})"));
  CHECK_FALSE(a == Json::read(R"({"y":{"q":null,"p":[2]},"x":1})"));
  CHECK_FALSE(a == Json::read(R"({"x":1,"z":{"p":[1],"q":null}})"));
  CHECK_FALSE(a == Json::read(R"({"x":1})"));
}

}  // namespace
}  // namespace pc
