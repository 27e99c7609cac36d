// What is left out where not all of a schema is asked for, and what says nothing at all.
#include "runtime/constrain/schemas/strictness.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/runtime/constrain/takes.h"

namespace pc::constrain::test {
namespace {

CompiledRules best_effort(const std::string& schema) {
  return json_schema(Json::read(schema), "schema", Strictness::kBestEffort).compiled().value();
}

std::vector<std::string> left_out(const std::string& schema) {
  std::vector<std::string> texts;
  for (const LeftOut& one : best_effort(schema).left_out) texts.push_back(one.text());
  return texts;
}

TEST_CASE("annotations say nothing, however strict") {
  for (const char* const schema : {
           R"({"type":"integer","unit":"kg"})",
           R"({"type":"string","contentEncoding":"base64","contentMediaType":"text/plain"})",
           R"({"type":"string","format":"password"})",
           R"({"type":"string","format":"uuid4"})",
           R"({"type":"integer","format":"int64"})",
           R"({"type":"string","nullable":false})",
           R"({"type":"object","strict":true,"self":{"vendor":"a"},"id":"b","x-c":[1]})",
           R"({"type":"object","propertyNames":{"type":"string"}})",
           R"({"type":"array","uniqueItems":false})",
           R"({"type":"object","patternProperties":{},"dependencies":{}})",
           R"({"type":"string","then":{"type":"null"},"minContains":3})",
       }) {
    INFO(schema);
    CHECK(refusal_of(schema) == "");
    CHECK(left_out(schema).empty());
  }
}

TEST_CASE("nullable: the type, or null") {
  CHECK(takes(R"({"type":"string","nullable":true})", "null"));
  CHECK(takes(R"({"type":"string","nullable":true})", "\"a\""));
  CHECK_FALSE(takes(R"({"type":"string","nullable":true})", "1"));
  CHECK_FALSE(takes(R"({"type":"string","nullable":false})", "null"));
  CHECK(takes(R"({"type":["null","integer"],"nullable":true})", "null"));
}

TEST_CASE("what cannot be enforced is left out and named, and all else is enforced") {
  const std::string schema = R"j({"type":"object","required":["a","b"],"properties":{
      "a":{"type":"string","pattern":"a(?=b)|(","maxLength":2},
      "b":{"$ref":"https://example.org/s","maximum":3}}})j";
  const CompiledRules rules = best_effort(schema);
  CHECK(takes(rules.automaton, R"({"a":"(","b":3})"));
  CHECK_FALSE(takes(rules.automaton, R"({"a":"(((","b":3})"));
  CHECK_FALSE(takes(rules.automaton, R"({"a":"(","b":4})"));
  CHECK(left_out(schema) == std::vector<std::string>{"schema/properties/b: \"$ref\"",
                                                     "schema/properties/a: \"pattern\""});
  CHECK(refusal_of(schema) != "");
}

TEST_CASE("oneOf of which nothing would be left is anyOf, and named") {
  const std::string schema = R"({"oneOf":[{"type":"number","format":"a"},{"type":"number"}]})";
  const CompiledRules rules = best_effort(schema);
  CHECK(takes(rules.automaton, "0.5"));
  CHECK_FALSE(takes(rules.automaton, "true"));
  CHECK(left_out(schema) == std::vector<std::string>{"schema: \"oneOf\""});
}

TEST_CASE("of a pattern that is too large the rest of its string is enforced") {
  const std::string schema = R"({"type":"string","pattern":"(a{1000}){1000}","maxLength":1})";
  const CompiledRules rules = best_effort(schema);
  CHECK(takes(rules.automaton, "\"b\""));
  CHECK_FALSE(takes(rules.automaton, "\"bb\""));
  CHECK(left_out(schema) == std::vector<std::string>{"schema: \"pattern\""});
}

TEST_CASE("a part that is too large is any value, and the others are what they are") {
  const std::string schema = R"({"type":"object","properties":{
      "a":{"type":"array","minItems":1000000000},"b":{"type":"null"}},"required":["a","b"]})";
  const CompiledRules rules = best_effort(schema);
  CHECK(takes(rules.automaton, R"({"a":"x","b":null})"));
  CHECK_FALSE(takes(rules.automaton, R"({"a":"x","b":1})"));
  CHECK(left_out(schema) == std::vector<std::string>{"schema/properties/a: all of it"});
}

TEST_CASE("what no value can be is refused, strict or not") {
  for (const char* const schema : {"false", R"({"enum":[]})", R"({"$ref":"#"})"})
    CHECK(refusal_of(json_schema(Json::read(schema), "schema", Strictness::kBestEffort)) != "");
}

TEST_CASE("grammars that differ in their strictness are not each other") {
  const Json schema = Json::object().set("type", "string").set("format", "regex");
  CHECK(json_schema(schema, "a").key() != json_schema(schema, "a", Strictness::kBestEffort).key());
  CHECK(json_schema(schema, "a", Strictness::kBestEffort).key() !=
        json_schema(schema, "b", Strictness::kBestEffort).key());
}

}  // namespace
}  // namespace pc::constrain::test
