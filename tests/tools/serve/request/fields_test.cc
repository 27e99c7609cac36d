#include "tools/serve/request/fields.h"

#include <catch2/catch.hpp>
#include <string>

namespace pc::serve {
namespace {

// What a reading is refused with: the parameter that it names.
template <class F>
std::string refused(F read) {
  try {
    read();
  } catch (const ApiError& error) {
    CHECK(error.status() == 400);
    return error.openai()["error"]["param"].string();
  }
  return "nothing";
}

TEST_CASE("fields have their types, and null is absent") {
  Fields fields(read_body(R"({"s":"x","b":true,"n":1.5,"i":7,"f":7.0,"a":["u","v"],"none":null})"));
  CHECK(fields.string("s") == "x");
  CHECK(fields.boolean("b") == true);
  CHECK(fields.number("n", 0, 2) == 1.5);
  CHECK(fields.integer("i", 0, 9) == 7);
  CHECK(fields.integer("f", 0, 9) == 7);  // as some languages write an integer
  CHECK(fields.strings("a", 2) == std::vector<std::string>{"u", "v"});
  CHECK(fields.strings("s", 2) == std::vector<std::string>{"x"});
  CHECK_FALSE(fields.string("none"));
  CHECK_FALSE(fields.string("absent"));
  CHECK(fields.unread().empty());
}

TEST_CASE("a seed is any integer, modulo 2^64") {
  Fields fields(read_body(R"({"a":7,"b":-5,"c":18446744073709551611,"d":18446744073709551617,
      "e":7.0,"f":-18446744073709551616,"g":18446744073710600192})"));
  CHECK(fields.seed("a") == 7u);
  CHECK(fields.seed("b") == UINT64_MAX - 4);
  CHECK(fields.seed("c") == UINT64_MAX - 4);
  CHECK(fields.seed("d") == 0u);  // beyond 2^64 as the nearest double
  CHECK(fields.seed("e") == 7u);
  CHECK(fields.seed("f") == 0u);
  CHECK(fields.seed("g") == 1048576u);
  CHECK_FALSE(fields.seed("absent"));
  CHECK(refused([] { Fields(read_body(R"({"s":1.5})")).seed("s"); }) == "s");
  CHECK(refused([] { Fields(read_body(R"({"s":"x"})")).seed("s"); }) == "s");
}

TEST_CASE("a field that cannot be meant is named with its path") {
  const Json body = read_body(R"({"s":5,"i":1.5,"big":1e300,"n":9,"a":[1],"o":{"x":[]}})");
  CHECK(refused([&] { Fields(body).string("s"); }) == "s");
  CHECK(refused([&] { Fields(body).integer("i", 0, 9); }) == "i");
  CHECK(refused([&] { Fields(body).integer("big", 0, 9); }) == "big");
  CHECK(refused([&] { Fields(body).number("n", 0, 1); }) == "n");
  CHECK(refused([&] { Fields(body).strings("a", 9); }) == "a");
  CHECK(refused([&] { Fields(body).word("s", {"a", "b"}); }) == "s");
  CHECK(refused([&] { Fields(body["o"], "o").boolean("x"); }) == "o.x");
  CHECK(refused([&] { Fields(body["a"], "a"); }) == "a");
  CHECK(refused([&] { Fields(body).required_string("absent"); }) == "absent");
  CHECK(Fields(body).unread().size() == 6);
}

TEST_CASE("what nobody reads of an object within is told by those around it") {
  Fields body(read_body(
      R"({"new":1,"o":{"x":true,"y":2,"deep":[{"a":1},{"a":2,"b":{"c":3}}]},"left":[5,6],"id":"i"})"));
  auto o = body.nested("o");
  REQUIRE(o);
  CHECK(o->boolean("x") == true);
  for_each_item(*o->array("deep"), o->path_of("deep"),
                [&](const Json& item, const std::string& at) {
                  Fields deep = o->inside(item, at);
                  deep.integer("a", 0, 9);
                  deep.nested("b");
                });
  body.array("left");
  body.leave_out("left[1]", "is no number that is wanted");
  body.inside(Json::object().set("y", 1), "left[0]").leave_out("is not, either");
  body.skip({"id", "absent"});
  CHECK(body.unread() ==
        std::vector<std::string>{"new", "left[1]", "o.y", "o.deep[1].b.c", "left[0]"});
  Fields same = *o;
  same.any("y");
  CHECK(body.unread() == std::vector<std::string>{"new", "left[1]", "o.deep[1].b.c", "left[0]"});
  CHECK(body.remarks() ==
        std::vector<std::string>{"left[1] is no number that is wanted", "left[0] is not, either"});
}

TEST_CASE("a body is an object of JSON and nothing else") {
  for (const std::string body : {"", "5", "[]", "{", "{}{}", "{\"a\":1,\"a\":2}", "nope"})
    CHECK(refused([&] { read_body(body); }) != "nothing");
  CHECK(read_body(" {} ").is_object());
}

}  // namespace
}  // namespace pc::serve
