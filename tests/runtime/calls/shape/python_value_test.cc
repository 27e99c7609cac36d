#include "runtime/calls/shape/python_value.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/support/random.h"

namespace pc::calls {
namespace {

// Of all of a text; null, which no test below wants to read, where it is none.
Json read(std::string_view text) {
  CallCursor at(text);
  const auto value = take_python_value(&at);
  return value && at.rest().empty() ? *value : Json();
}

TEST_CASE("values are read as Python means them") {
  CHECK(read("'it\\'s'") == Json("it's"));
  CHECK(read("\"a \\\"b\\\" \\\\ \\n \\x\"") == Json("a \"b\" \\ \n \\x"));
  CHECK(read("'\\u00e9 \xC3\xA9\n\t'") == Json("é é\n\t"));
  CHECK(read("'\\x41\\x1b C:\\users \\x4'") == Json("A\x1b C:\\users \\x4"));
  CHECK(read("\"Oslo \"north\" or 'south'\"") == Json("Oslo \"north\" or 'south'"));
  CHECK(read("-1.5e3") == Json(-1500.0));
  CHECK(read("[1, True, false, 'x',]") == Json::read(R"([1, true, false, "x"])"));
  CHECK(read("(1, (2,), ())") == Json::read("[1, [2], []]"));
  CHECK(read("{'a': {\"b\": None}, 'c': null}") == Json::read(R"({"a": {"b": null}, "c": null})"));
  CallCursor at("'a', b='c'");
  CHECK(take_python_value(&at) == Json("a"));
  CHECK(at.rest() == ", b='c'");
}

TEST_CASE("what is no value is not read") {
  for (const char* const text : {"", "'a", "a", "1x", "[1 2]", "[1", "{1: 2}", "{'a' 1}", "{'a': }",
                                 "'\\ud800'", "'\xFF'", "Truest", "[,]"})
    CHECK(read(text).is_null());
  CHECK(read(std::string(100, '[') + std::string(100, ']')).is_null());
  CHECK(read(std::string(60, '[') + std::string(60, ']')).is_array());
}

// As Python's repr() writes it.
std::string repr(const Json& value) {
  std::string out;
  if (value.is_null()) return "None";
  if (value.is_boolean()) return value.truth() ? "True" : "False";
  if (value.is_array()) {
    for (const Json& item : value.items()) out += (out.empty() ? "" : ", ") + repr(item);
    return "[" + out + "]";
  }
  if (value.is_object()) {
    for (const std::string& key : value.keys())
      out += (out.empty() ? "" : ", ") + repr(Json(key)) + ": " + repr(value[key]);
    return "{" + out + "}";
  }
  if (!value.is_string()) return value.dump();
  const std::string text = value.string();
  const char quote = text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
  for (const char c : text) {
    if (c == quote || c == '\\') out += '\\';
    out += c == '\n' ? "\\n" : std::string(1, c);
  }
  return quote + out + quote;
}

Json random_value(pc::test::Random& random, int depth) {
  const std::uint32_t kind = random.below(depth > 0 ? 6 : 4);
  if (kind == 0) return Json();
  if (kind == 1) return Json(random.chance(0.5));
  if (kind == 2) return Json(static_cast<std::int64_t>(random.below(2000)) - 1000);
  std::string text;
  for (std::uint32_t n = random.below(6); n > 0; --n) text += "ab'\"\\\n,) ]:"[random.below(11)];
  if (kind == 3) return text;
  Json list = Json::array(), object = Json::object();
  for (std::uint32_t n = random.below(4); n > 0; --n) {
    const Json item = random_value(random, depth - 1);
    list.push(item);
    object.set(text + std::to_string(n), item);
  }
  return kind == 4 ? list : object;
}

TEST_CASE("what repr() and JSON write is read again") {
  pc::test::Random random(4);
  for (int round = 0; round < 3000; ++round) {
    const Json value = Json::array().push(random_value(random, 3));
    INFO(repr(value));
    REQUIRE(read(repr(value)) == value);
    REQUIRE(read(value.dump()) == value);
  }
}

}  // namespace
}  // namespace pc::calls
