// Parameters that a template writes one by one.

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "runtime/constrain/grammar/grammar.h"
#include "tests/runtime/constrain/takes.h"

namespace pc::constrain::test {
namespace {

const MemberWords kWords{"<parameter=", ">\n", "\n</parameter>", "\n"};

Grammar grammar_of(std::string_view schema, const MemberWords& words = kWords) {
  return sequence({literal("f"), written_members(Json::read(schema), "tools[0]", words)});
}

Automaton members_of(std::string_view schema, const MemberWords& words = kWords) {
  return grammar_of(schema, words).compiled().value().automaton;
}

bool takes_members(const Automaton& automaton, const std::string& text) {
  return takes(automaton, "f" + text);
}

std::string written(const std::string& key, const std::string& value) {
  return kWords.key_open + key + kWords.key_close + value + kWords.value_close;
}

std::string refusal(std::string_view schema) {
  return refusal_of(grammar_of(schema));
}

TEST_CASE("members come in the schema's order, and those that are not required may be missing") {
  const Automaton all = members_of(R"({"type": "object", "required": ["b"],
      "properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {}}})");
  const std::string a = written("a", "5"), b = written("b", "five"),
                    c = written("c", R"([1, "x"])"), n = "\n";
  for (const std::string& text : {b, a + n + b, b + n + c, a + n + b + n + c})
    CHECK(takes_members(all, text));
  for (const std::string& text :
       {std::string(), a, c, a + b, b + n + a, a + n + a + n + b, b + n + written("d", "5"),
        written("a", "five") + n + b, b + n + written("c", "five"), b + n})
    CHECK_FALSE(takes_members(all, text));
  CHECK(takes_members(members_of("{}"), ""));
  CHECK(takes_members(members_of(R"({"required": ["a"]})"), written("a", "[1]")));
  // A reader knows the types of those that are named alone.
  const Automaton others =
      members_of(R"({"required": ["a"], "additionalProperties": {"type": "string"}})");
  CHECK(takes_members(others, written("a", "\"5\"")));
  CHECK_FALSE(takes_members(others, written("a", "5")));
}

TEST_CASE("a string stands as it is, up to the first of the words that end it") {
  const Automaton any = members_of(R"({"properties": {"a": {"type": "string"}}})");
  for (const std::string text : {"", "a\n\"b\"\\", "</parameter", "\n\n", "é 😀", "<parameter=a>\n"})
    CHECK(takes_members(any, written("a", text)));
  for (const std::string text :
       {"x</parameter>", "</parameter>\n", "\n</parameter>\nx", "\xFF", "\xED\xA0\x80"})
    CHECK_FALSE(takes_members(any, written("a", text)));
  // The end of a text and the word behind it: a reader takes the first that they make.
  const Automaton doubled =
      members_of(R"({"properties": {"a": {"type": "string"}}})", {"<", ">", "]]"});
  CHECK(takes_members(doubled, "<a>x]]"));
  CHECK_FALSE(takes_members(doubled, "<a>x]]]"));
}

TEST_CASE("keywords of strings hold for the text, not for its spelling in JSON") {
  const Automaton limited = members_of(
      R"({"required": ["a"], "properties": {"a": {"type": "string", "minLength": 2, "maxLength": 3}}})");
  for (const std::string text : {"ab", "\"\"", "é\n😀"})
    CHECK(takes_members(limited, written("a", text)));
  for (const std::string text : {"a", "abcd"})
    CHECK_FALSE(takes_members(limited, written("a", text)));
  const Automaton pattern = members_of(
      R"({"properties": {"a": {"type": "string", "pattern": "^\"[a-c]+\"$", "maxLength": 4}}})");
  CHECK(takes_members(pattern, written("a", "\"ab\"")));
  CHECK_FALSE(takes_members(pattern, written("a", "\"abc\"")));
  CHECK_FALSE(takes_members(pattern, written("a", "\\\"ab\\\"")));
  const Automaton choice = members_of(
      R"({"properties": {"a": {"type": "string", "enum": ["on", "o\"ff", "x</parameter>", 5]}}})");
  for (const std::string text : {"on", "o\"ff"}) CHECK(takes_members(choice, written("a", text)));
  for (const std::string text : {"5", "x</parameter>", "\"on\""})
    CHECK_FALSE(takes_members(choice, written("a", text)));
  const Automaton either = members_of(
      R"({"properties": {"a": {"type": "string", "anyOf": [{"const": "x"}, {"pattern": "^y+$"}]}}})");
  for (const std::string text : {"x", "yy"}) CHECK(takes_members(either, written("a", text)));
  CHECK_FALSE(takes_members(either, written("a", "z")));
}

TEST_CASE("words of control tokens end a text, and their spelling cannot stand in it") {
  const std::string close = std::string(1, kControlMark) + "</arg>";
  const Automaton marked =
      members_of(R"({"properties": {"a": {"type": "string"}}})", {"<", ">", close});
  CHECK(takes_members(marked, "<a>x" + close));
  CHECK_FALSE(takes_members(marked, "<a>x</arg>"));
  CHECK_FALSE(takes_members(marked, "<a>x</arg>" + close));
}

TEST_CASE("what cannot be written so is refused by its name") {
  CHECK(refusal(R"({"anyOf": [{}]})").find("\"anyOf\" cannot be enforced where") !=
        std::string::npos);
  CHECK(refusal(R"({"type": "string"})").find("is an object") != std::string::npos);
  CHECK(refusal(R"({"properties": {"a>b": {}}})").find("name") != std::string::npos);
  CHECK(refusal(R"({"properties": {" a": {}}})").find("name") != std::string::npos);
  for (const char* const name : {")", "a b", "a=b", "a,b", "a\""}) {
    const Json parameters =
        Json::object().set("properties", Json::object().set(name, Json::object()));
    CHECK(refusal_of(written_members(parameters, "tools[0]", {"", "=", "", ", ", true})) != "");
  }
  CHECK(refusal(R"j({"properties": {"a": {"type": "string", "pattern": "a(?=b)"}}})j")
            .find("looks ahead") != std::string::npos);
  CHECK(refusal(R"({"required": ["a"], "properties": {"a": {"type": "string", "enum": [5]}}})") !=
        "");
  CHECK(refusal(R"({"required": ["a"], "properties":
      {"a": {"type": "string", "minLength": 3, "maxLength": 2}}})") != "");
}

TEST_CASE("words and names of members pay for their nodes") {
  std::string names;
  for (int i = 0; i < 14'000; ++i) names += (i ? ",\"" : "\"") + std::to_string(i) + '"';
  const std::string many = "{\"required\": [" + names + "]}";
  std::vector<Grammar> tools;
  for (int i = 0; i < 40; ++i)
    tools.push_back(sequence(
        {literal("f" + std::to_string(i)), written_members(Json::read(many), "tools", kWords)}));
  CHECK(refusal_of(choice(tools)).find("too large") != std::string::npos);
}

TEST_CASE("words stand between members, whichever come") {
  const Automaton some = members_of(R"({"properties": {"a": {"type": "integer"},
      "b": {"type": "string"}, "c": {"type": "integer"}}})",
                                    {"", "=", "", ", ", true});
  for (const char* const text : {"", "a=1", "b=\"x\"", "a=1, c=2", "b=\"x\", c=2", "c=2"})
    CHECK(takes_members(some, text));
  for (const char* const text : {", a=1", "a=1,", "a=1c=2", "b=x", "c=2, a=1"})
    CHECK_FALSE(takes_members(some, text));
  const Automaton second = members_of(R"({"required": ["b"], "properties": {
      "a": {"type": "integer"}, "b": {"type": "integer"}, "c": {"type": "integer"}}})",
                                      {"", "=", "", ", ", true});
  for (const char* const text : {"b=1", "a=1, b=2", "b=1, c=2", "a=1, b=2, c=3"})
    CHECK(takes_members(second, text));
  for (const char* const text : {"", "a=1", "c=2", "a=1, c=2"})
    CHECK_FALSE(takes_members(second, text));
}

}  // namespace
}  // namespace pc::constrain::test
