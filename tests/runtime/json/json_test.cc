#include "runtime/json/json.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "runtime/json/json_writer.h"
#include "tests/support/temp_folder.h"

using namespace pc;

namespace {

JsonDocument parse(std::string_view text) {
  auto document = JsonDocument::parse(text, "doc.json");
  INFO(text);
  if (!document.ok()) FAIL(document.error().message);
  return std::move(document).value();
}

Error refusal(std::string_view text, const JsonLimits& limits = {}) {
  const auto document = JsonDocument::parse(text, "doc.json", limits);
  INFO(text);
  REQUIRE_FALSE(document.ok());
  return document.error();
}

}  // namespace

TEST_CASE("a value is read by its type, and a wrong type names the path") {
  const auto document = parse(R"({"a": {"b": [1, 2.5, "x", true, null]}, "z": null})");
  const JsonView b = *document.root().member("a")->member("b");
  REQUIRE(b.size() == 5);
  CHECK(*b.at(0).integer() == 1);
  CHECK(*b.at(0).number() == 1.0);
  CHECK(*b.at(1).number() == 2.5);
  CHECK(*b.at(2).string() == "x");
  CHECK(*b.at(3).boolean());
  CHECK(b.at(4).is_null());
  CHECK(b.at(3).path() == "$.a.b[3]");
  CHECK(b.at(1).integer().error().message == "doc.json: $.a.b[1]: is number, wanted an integer");
  CHECK(b.at(2).boolean().error().message == "doc.json: $.a.b[2]: is string, wanted true or false");
  CHECK(b.at(0).integer_in(2, 9).error().message == "doc.json: $.a.b[0]: is 1, wanted 2 to 9");
  CHECK(document.root().member("c").error().message == "doc.json: $: has no \"c\"");
  CHECK(b.member("c").error().message == "doc.json: $.a.b: is array, wanted an object");
  CHECK_FALSE(document.root().find("z"));  // null counts as absent
}

TEST_CASE("defaults count for absent and null members only") {
  const auto document = parse(R"({"n": 3, "s": "t", "f": 0.5, "b": true, "none": null})");
  const JsonView root = document.root();
  CHECK(*root.integer_or("n", 7) == 3);
  CHECK(*root.integer_or("none", 7) == 7);
  CHECK(*root.string_or("absent", "d") == "d");
  CHECK(*root.number_or("f", 1) == 0.5);
  CHECK(*root.boolean_or("b", false));
  CHECK_FALSE(root.integer_or("s", 7).ok());
  CHECK_FALSE(root.boolean_or("n", true).ok());
}

TEST_CASE("views survive a move of the document") {
  auto first = parse(R"(["text that is longer than a small string"])");
  const JsonView view = first.root().at(0);
  const JsonDocument second = std::move(first);
  CHECK(*view.string() == "text that is longer than a small string");
  CHECK(second.name() == "doc.json");
}

TEST_CASE("equal values dump alike") {
  const auto a = parse(R"({"b": [1, "é"], "a": null})"),
             b = parse("{\"a\":null,\"b\":[1,\"\\u00e9\"]}");
  CHECK(a.root().dump() == R"({"a":null,"b":[1,"é"]})");
  CHECK(a.root().dump() == b.root().dump());
}

TEST_CASE("integers at the edges") {
  const auto document =
      parse("[9223372036854775807, 9223372036854775808, -9223372036854775808, 1e3]");
  CHECK(*document.root().at(0).integer() == INT64_MAX);
  CHECK_FALSE(document.root().at(1).integer().ok());
  CHECK(*document.root().at(2).integer() == INT64_MIN);
  CHECK_FALSE(document.root().at(3).integer().ok());
  CHECK(*document.root().at(3).number() == 1000.0);
}

TEST_CASE("what is not strict JSON is refused") {
  for (const char* text :
       {"", "{", "[1,]", "{\"a\":1,}", "nul", "NaN", "[1] x", "{a:1}", "'a'", "01", "// c\n1",
        "\"\x80\"", "\"\xED\xA0\x80\"", "\"\\ud800\"", "\"a\nb\"", "1e999"}) {
    CHECK(refusal(text).code == Code::kCorrupt);
  }
  CHECK(refusal("[1,]").message == "doc.json: not valid JSON at byte 4");
  CHECK(refusal(R"([{"k":1,"l":2,"k":3}])").message ==
        "doc.json: the key \"k\" appears twice in one object");
}

TEST_CASE("limits on bytes, depth and values") {
  CHECK(refusal("[1,2,3]", {.bytes = 6}).code == Code::kUnsupported);
  CHECK(refusal("[1,2,3]", {.values = 3}).code == Code::kUnsupported);
  CHECK(JsonDocument::parse("[1,2,3]", "", {.bytes = 7, .values = 4, .depth = 1}).ok());
  const std::string deep = std::string(64, '[') + std::string(64, ']');
  CHECK(JsonDocument::parse(deep, "").ok());
  CHECK(refusal("[" + deep + "]").message == "doc.json: nested deeper than 64 levels, the limit");
  CHECK(refusal(std::string(1 << 20, '[')).code == Code::kUnsupported);
}

TEST_CASE("what the writer writes, the reader reads back") {
  std::string all_ascii;
  for (int c = 0; c < 128; ++c) all_ascii.push_back(static_cast<char>(c));
  std::string text;
  JsonWriter json(&text);
  json.begin_object();
  json.key("text").value(all_ascii).key("utf8").value("grün ▁😀").key("bad").value("a\xFF\xE2\x96");
  json.key("numbers").begin_array();
  for (const double x : {0.0, -0.1, 1e300, 5e-324, 1.0 / 3}) json.value(x);
  json.value(std::nan("")).value(UINT64_MAX).value(-3).value(true).null().end_array();
  json.key("empty").begin_object().end_object().end_object();

  const auto document = parse(text);
  const JsonView root = document.root();
  CHECK(*root.member("text")->string() == all_ascii);
  CHECK(*root.member("utf8")->string() == "grün ▁😀");
  CHECK(*root.member("bad")->string() == "a\uFFFD\uFFFD");
  const JsonView numbers = *root.member("numbers");
  CHECK(*numbers.at(1).number() == -0.1);
  std::string zero;
  JsonWriter(&zero).value(-0.0);
  CHECK(std::signbit(*parse(zero).root().number()));
  CHECK(*numbers.at(3).number() == 5e-324);
  CHECK(*numbers.at(4).number() == 1.0 / 3);
  CHECK(numbers.at(5).is_null());
  CHECK(numbers.at(6).number().ok());
  CHECK(*numbers.at(7).integer() == -3);
  CHECK(*numbers.at(8).boolean());
  CHECK(root.member("empty")->is_object());
}

namespace {

// Writes what it is told, in order.
struct Recorder final : JsonEvents {
  std::string log;
  Status add(const std::string& what) {
    log += what + ' ';
    return what == "stop" ? Status(error(Code::kInvalidArgument, "stopped")) : ok();
  }
  Status null() override { return add("null"); }
  Status boolean(bool b) override { return add(b ? "true" : "false"); }
  Status integer(std::int64_t i) override { return add(std::to_string(i)); }
  Status number(double d) override { return add(d == 2.5 ? "2.5" : "number"); }
  Status string(std::string_view text) override { return add(std::string(text)); }
  Status key(std::string_view name) override { return add(std::string(name) + ":"); }
  Status begin_object() override { return add("{"); }
  Status begin_array() override { return add("["); }
  Status end() override { return add("end"); }
};

}  // namespace

TEST_CASE("events come in the document's order") {
  Recorder seen;
  REQUIRE(read_json(R"({"b": [1, 2.5, null], "a": {"c": "x"}, "d": true})", "doc", {}, &seen).ok());
  CHECK(seen.log == "{ b: [ 1 2.5 null end a: { c: x end d: true end ");
}

TEST_CASE("reading events stops at an error, at a limit, and at an integer beyond 64 bits") {
  const auto failure = [](std::string_view text, const JsonLimits& limits = {}) {
    Recorder seen;
    const Status done = read_json(text, "doc", limits, &seen);
    REQUIRE_FALSE(done.ok());
    return done.error().message;
  };
  CHECK(failure(R"(["stop", 1])") == "stopped");
  CHECK(failure("[1,") == JsonDocument::parse("[1,", "doc").error().message);
  CHECK(failure("18446744073709551615") == "doc: an integer beyond 64 bits");
  CHECK(failure("-9223372036854775809") == "doc: an integer beyond 64 bits");
  CHECK(failure("[[1]]", {.depth = 1}).find("nested deeper") != std::string::npos);
  CHECK(failure("[1, 2]", {.values = 2}).find("more than 2 values") != std::string::npos);
  CHECK(failure("[1, 2]", {.bytes = 2}).find("bytes of JSON") != std::string::npos);
}

TEST_CASE("of a file infinities as Python writes them are null, and nothing else is") {
  const test::TempFolder folder;
  const auto read = [&](const std::string& text) {
    folder.write("c.json", text);
    return JsonDocument::read_file(folder.path() + "/c.json");
  };
  const auto c = read(R"({"a": [0.0, Infinity, -Infinity], "b": "\"Infinity", "c": "Infinity"})");
  REQUIRE(c.ok());
  const JsonView list = *c->root().find("a");
  CHECK((list.size() == 3 && list.at(1).is_null() && list.at(2).is_null()));
  CHECK(c->root().find("b")->string().value() == "\"Infinity");
  CHECK(c->root().find("c")->string().value() == "Infinity");
  const auto bad = read(R"({"a": Infinity, "b": Infinite})");
  REQUIRE_FALSE(bad.ok());
  CHECK_THAT(bad.error().message, Catch::Contains("byte 22"));
  CHECK_FALSE(JsonDocument::parse(R"([Infinity])", "doc.json").ok());
}
