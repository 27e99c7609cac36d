#include "runtime/constrain/schemas/schema_compiler.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/runtime/constrain/takes.h"

namespace pc::constrain::test {
namespace {

// Checks that a schema takes some texts and does not take others.
struct Row {
  std::string schema;
  std::vector<std::string> good, bad;
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    INFO(row.schema);
    const Automaton automaton = automaton_of(row.schema);
    for (const std::string& text : row.good) {
      INFO(text);
      CHECK(takes(automaton, text));
    }
    for (const std::string& text : row.bad) {
      INFO(text);
      CHECK_FALSE(takes(automaton, text));
    }
  }
}

TEST_CASE("types") {
  check({
      {R"({"type":"null"})", {"null"}, {"nul", "true", "nulll"}},
      {R"({"type":"boolean"})", {"true", "false"}, {"null", "\"true\""}},
      {R"({"type":"string"})", {R"("")", R"("a\n\u00e9é")"}, {R"("a)", "a", "\"\n\"", "\"\xff\""}},
      {R"({"type":"integer"})", {"0", "-7", "123"}, {"01", "-0", "1.5", "1e3", ""}},
      {R"({"type":"number"})", {"0", "-7.25", "1e3", "12E-07"}, {"01", ".5", "1.", "+1", "1e"}},
      {R"({"type":["string","null"]})", {R"("x")", "null"}, {"1", "true"}},
      {R"({"type":"object"})",
       {"{}", R"({"a":{"b":[1,"x",null]}, "c":true})"},
       {"[]", R"({"a"})", R"({"a":1,})"}},
      {R"({"type":"array"})", {"[]", R"([1, "x", {}])", "[\n  1,\n  2\n]"}, {"[1,]", "[,1]", "{}"}},
      {"{}", {"1", "[]", R"({"a":1})", "null", "\"x\""}, {"", "x"}},
      {"true", {"1"}, {""}},
  });
}

TEST_CASE("objects: properties come in order, and others only where that is said") {
  check({
      {R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"boolean"},"ab":{"type":"null"}},"required":["b"]})",
       {R"({"b":true})", R"({"a":1,"b":true})", R"({"a":1, "b": false, "ab":null})",
        "{\n  \"b\": true\n}"},
       {"{}", R"({"a":1})", R"({"b":true,"a":1})", R"({"b":true,"c":1})", R"({"b":1})",
        R"({"b" :true})", R"({"a":1 ,"b":true})"}},
      {R"({"properties":{"a":{"type":"integer"}},"additionalProperties":{"type":"string"}})",
       {"{}", R"({"a":1})", R"({"a":1,"b":"x"})", R"({"b":"x","c":"y"})", R"({"aa":"x"})",
        R"({"":"x"})"},
       {R"({"a":"x"})", R"({"b":1})", R"({"b":"x","a":1})", R"({"\u0061":"x"})"}},
      {R"({"type":"object","additionalProperties":{"type":"integer"}})",
       {"{}", R"({"x":1,"y":2})"},
       {R"({"x":"1"})"}},
      {R"({"type":"object","properties":{}})", {"{}"}, {R"({"x":1})"}},
      {R"({"type":"object","required":["x"]})", {R"({"x":[1]})"}, {"{}", R"({"y":1})"}},
      {R"({"type":"object","properties":{"a":false,"b":{"type":"null"}}})",
       {"{}", R"({"b":null})"},
       {R"({"a":1})"}},
      {R"({"type":"object","properties":{"a\"b/~é":{"type":"null"}}})",
       {R"({"a\"b/~é":null})"},
       {}},
      {R"({"type":"object","minProperties":1})", {R"({"a":1})"}, {"{}"}},
      {R"({"type":"object","maxProperties":0})", {"{}"}, {R"({"a":1})"}},
  });
}

TEST_CASE("arrays") {
  check({
      {R"({"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":3})",
       {"[1]", "[1,2]", "[1, 2,\n3]"},
       {"[]", "[1,2,3,4]", "[\"1\"]"}},
      {R"({"type":"array","items":{"type":"integer"},"minItems":2})",
       {"[1,2]", "[1,2,3,4,5]"},
       {"[]", "[1]"}},
      {R"({"prefixItems":[{"type":"string"},{"type":"integer"}],"items":false,"minItems":2})",
       {R"(["a",1])"},
       {R"(["a"])", R"([1,"a"])", R"(["a",1,2])"}},
      {R"({"prefixItems":[{"type":"string"}],"items":{"type":"null"}})",
       {"[]", R"(["a"])", R"(["a",null,null])"},
       {"[null]", R"(["a","b"])"}},
      {R"({"type":"array","maxItems":0})", {"[]"}, {"[1]"}},
      {R"({"type":"array","items":false})", {"[]"}, {"[1]"}},
      {R"({"type":"array","minItems":2})", {"[1,{}]"}, {"[1]"}},
  });
}

TEST_CASE("values that are enumerated") {
  check({
      {R"({"enum":["a","b",1,null,{"x":[1]}]})",
       {R"("a")", "1", "null", R"({"x":[1]})"},
       {R"("c")", "2", "{}"}},
      {R"({"type":"string","enum":["a",1]})", {R"("a")"}, {"1"}},
      {R"({"const":null})", {"null"}, {"0"}},
      {R"({"type":"integer","enum":[1,1.5,2.0]})", {"1", "2.0"}, {"1.5"}},
      {R"({"enum":["a","bc","é",7,null],"pattern":"^.$","minimum":8})",
       {R"("a")", R"("é")", "null"},
       {R"("bc")", "7"}},
  });
}

TEST_CASE("combinations") {
  check({
      {R"({"anyOf":[{"type":"string"},{"type":"integer"}]})", {"\"a\"", "1"}, {"null", "1.5"}},
      {R"({"anyOf":[{"type":"object","properties":{"k":{"const":"a"},"x":{"type":"integer"}},"required":["k","x"]},
                    {"type":"object","properties":{"k":{"const":"b"},"y":{"type":"string"}},"required":["k","y"]}]})",
       {R"({"k":"a","x":1})", R"({"k":"b","y":"z"})"},
       {R"({"k":"a","y":"z"})", R"({"k":"b","x":1})"}},
      {R"({"oneOf":[{"type":"string"},{"type":"null"}]})", {"\"a\"", "null"}, {"1"}},
      {R"({"allOf":[{"$ref":"#/$defs/a"}],"description":"x","$defs":{"a":{"type":"integer"}}})",
       {"1"},
       {"\"1\""}},
      {R"({"allOf":[{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},{"properties":{"b":{"type":"null"}}}]})",
       {R"({"a":1})", R"({"a":1,"b":null})"},
       {"{}", R"({"b":null})"}},
      {R"({"allOf":[{"minimum":3},{"type":"integer","minimum":5,"maximum":9},{"type":"number","maximum":7}]})",
       {"5", "7"},
       {"4", "8", "5.5"}},
      {R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"anyOf":[{"required":["a"]},{"required":["b"]}]})",
       {R"({"a":1})", R"({"b":1})", R"({"a":1,"b":1})"},
       {"{}"}},
      {R"({"allOf":[{"properties":{"a":{"minimum":2,"type":"integer"}}},{"properties":{"a":{"maximum":4}}}]})",
       {R"({"a":3})"},
       {R"({"a":5})", R"({"a":1})"}},
  });
}

TEST_CASE("references, to itself as well") {
  const std::string tree =
      R"({"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},
          "children":{"type":"array","items":{"$ref":"#/$defs/node"}}},"required":["v"]}}})";
  check({
      {tree,
       {R"({"v":1})", R"({"v":1,"children":[{"v":2,"children":[]},{"v":3}]})"},
       {R"({"v":1,"children":[{}]})"}},
      {R"({"properties":{"a~/%b":{"type":"null"},"c":{"$ref":"#/properties/a~0~1%25b"}}})",
       {R"({"c":null})"},
       {R"({"c":1})"}},
      {R"({"type":["array","null"],"items":{"$ref":"#"}})", {"null", "[[],[null]]"}, {"[1]"}},
  });
  // Before the first object that must be there cannot be, its property is not written.
  std::string deep;
  for (int i = 0; i < 31; ++i) deep += R"({"v":1,"children":[)";
  CHECK_FALSE(takes(tree, deep));
}

TEST_CASE("a reference may have any number of steps, and many may lead into one object") {
  std::string far = "#", schema = R"({"anyOf":[)", parts;
  for (int i = 0; i < 200'000; ++i) far += "/a";
  CHECK(refusal_of(R"({"$ref":")" + far + "\"}").find("there is no schema at") !=
        std::string::npos);
  for (int i = 0; i < 20; ++i) {
    schema += (i ? "," : "") + (R"({"$ref":"#/$defs/~0)" + std::to_string(i)) + "~1\"}";
    parts +=
        (i ? "," : "") + ("\"~" + std::to_string(i)) + "/\":{\"const\":" + std::to_string(i) + "}";
  }
  const std::string whole = schema + "],\"$defs\":{" + parts + "}}";
  REQUIRE(refusal_of(whole) == "");
  const Automaton automaton = automaton_of(whole);
  CHECK(takes(automaton, "19"));
  CHECK_FALSE(takes(automaton, "20"));
  CHECK(refusal_of(R"({"$ref":"#/$defs/1","$defs":[{"const":1},{"const":2}]})").empty());
  CHECK(takes(R"({"$ref":"#/$defs/1","$defs":[{"const":1},{"const":2}]})", "2"));
  CHECK(refusal_of(R"({"$ref":"#/$defs/1x","$defs":[true,true]})").find("there is no schema at") !=
        std::string::npos);
}

TEST_CASE("strings: lengths, patterns, formats") {
  check({
      {R"({"type":"string","minLength":2,"maxLength":3})",
       {R"("ab")", R"("é\n\ud83d\ude00")", R"("abc")"},
       {R"("a")", R"("abcd")", R"("\ud83d\ude00")"}},
      {R"({"type":"string","pattern":"^[a-z]+\\d{2}$"})",
       {R"("ab12")"},
       {R"("ab1")", R"("12")", R"("ab123")"}},
      {R"({"type":"string","pattern":"b+"})",
       {R"("b")", R"("abc\n")", R"("é\"b")"},
       {R"("")", R"("a")"}},
      {R"({"pattern":"^a|b$"})", {R"("axx")", R"("xxb")"}, {R"("xax")"}},
      {R"({"type":"string","pattern":"^a*$","minLength":2,"maxLength":3})",
       {R"("aa")", R"("aaa")"},
       {R"("a")", R"("aaaa")"}},
      {R"({"type":"string","format":"date"})",
       {R"("2024-02-29")", R"("1999-12-31")", R"("2000-02-29")"},
       {R"("2023-02-29")", R"("1900-02-29")", R"("2024-13-01")", R"("2024-04-31")",
        R"("0000-01-01")"}},
      {R"({"type":"string","format":"date-time"})",
       {R"("2024-02-29T23:59:59.123Z")", R"("2024-01-01T00:00:00+01:30")"},
       {R"("2024-01-01")", R"("2024-01-01T24:00:00Z")", R"("2024-01-01T00:00:00")"}},
      {R"({"type":"string","format":"uuid"})",
       {R"("01234567-89ab-CDEF-0123-456789abcdef")"},
       {R"("0123")"}},
      {R"({"type":"string","format":"email"})",
       {R"("a.b+c@d-e.example.org")"},
       {R"("a@b")", R"("@b.org")", R"("a..b@c.org")"}},
      {R"({"type":"string","format":"ipv4"})",
       {R"("255.0.10.1")"},
       {R"("256.0.0.1")", R"("01.1.1.1")", R"("1.1.1")"}},
      {R"({"type":"string","format":"duration"})",
       {R"("P3W")", R"("P1Y2M3DT4H5M6S")", R"("PT1H")"},
       {R"("P")", R"("PT")", R"("P1D2M")"}},
      {R"({"type":"string","format":"uri"})",
       {R"("https://example.org:80/a%20b?c=d#e")"},
       {R"("example")", R"("http:///")"}},
  });
}

TEST_CASE("numbers between bounds") {
  check({
      {R"({"type":"integer","minimum":-3,"maximum":12})",
       {"-3", "0", "9", "12"},
       {"-4", "13", "100", "-0"}},
      {R"({"type":"integer","exclusiveMinimum":0,"exclusiveMaximum":3.5})", {"1", "3"}, {"0", "4"}},
      {R"({"type":"number","minimum":0,"maximum":1})",
       {"0", "1", "0.5", "1.0", "0.000"},
       {"1.1", "-0.5", "2", "1e0"}},
      {R"({"type":"number","exclusiveMinimum":-0.25,"exclusiveMaximum":0.5})",
       {"0", "-0.2", "0.49", "-0.2499"},
       {"-0.25", "0.5", "0.50"}},
      {R"({"type":"number","exclusiveMinimum":0})", {"0.1", "12.5"}, {"0", "0.0", "-1"}},
      {R"({"type":"integer","minimum":9223372036854775807})",
       {"9223372036854775807"},
       {"9223372036854775806"}},
      {R"({"type":"integer","multipleOf":1})", {"3"}, {}},
      {R"({"type":"number","maximum":1e300})", {"7.5"}, {"1e2"}},
  });
}

TEST_CASE("what cannot be enforced is refused by its name and place") {
  const auto check_refused = [](const std::string& schema, const std::string& what) {
    INFO(schema);
    CHECK(refusal_of(schema).find(what) != std::string::npos);
    INFO(refusal_of(schema));
    CHECK(refusal_of(schema) != "");
  };
  check_refused(R"({"properties":{"a":{"not":{"format":"date"}}}})",
                "schema/properties/a: \"not\" of this cannot be enforced here");
  check_refused(R"({"items":{"anyOf":[{},{"$dynamicRef":"#a"}]}})",
                "schema/items/anyOf/1: \"$dynamicRef\"");
  check_refused(
      R"({"$defs":{"a/b":{"unevaluatedProperties":false,"not":{"required":["a"]}}},
          "properties":{"x":{"$ref":"#/$defs/a~1b"}}})",
      "schema/$defs/a~1b: \"unevaluatedProperties\"");
  check_refused(R"({"type":"array","uniqueItems":true,"minItems":2})", "\"uniqueItems\"");
  check_refused(R"({"type":"number","multipleOf":7919})", "\"multipleOf\"");
  check_refused(R"({"type":"array","contains":{},"minContains":17})", "\"minContains\"");
  check_refused(R"j({"type":"string","pattern":"a(?=b)"})j", "looks ahead");
  check_refused(R"({"type":"string","pattern":"\\bx"})", "\\b");
  check_refused(R"j({"type":"string","pattern":"(a)\\1"})j", "refers to a group");
  check_refused(R"({"type":"strnig"})", "\"type\"");
  check_refused(R"j({"type":"object","patternProperties":{"a(?=b)":{}}})j", "looks ahead");
  check_refused(R"({"oneOf":[{"type":"integer"},{"type":"integer"}]})", "no finite value");
  check_refused(R"({"not":{}})", "no finite value");
  check_refused(R"({"$ref":"other.json"})", "leads out");
  check_refused(R"({"$ref":"#a","$defs":{"x":{"$anchor":"a"},"y":{"$anchor":"a"}}})",
                "several schemas");
  check_refused(R"({"$ref":"https://example.org/s"})", "leads out");
  check_refused(R"({"$ref":"#/$defs/nothing"})", "there is no schema");
  check_refused(R"({"$ref":"#"})", "said to be itself");
  check_refused(R"({"anyOf":[{"$ref":"#"},{"type":"null"}]})", "said to be itself");
  check_refused(R"({"allOf":[{"$ref":"#"}]})", "too deep");
  check_refused(R"({"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]})",
                "no finite value");
  check_refused(R"({"type":"string","minLength":3,"maxLength":0})", "no finite value");
  check_refused(R"({"type":"string","pattern":"^a*$","minLength":3,"maxLength":2})", "no finite");
  check_refused(R"({"type":"array","minItems":3,"maxItems":1})", "no finite value");
  check_refused(R"({"minimum":3,"maximum":1,"type":"integer"})", "no finite value");
  check_refused(R"({"enum":[]})", "no finite value");
  check_refused(R"({"allOf":[{"pattern":"a"},{"pattern":"b"}]})", "\"pattern\" in several parts");
  check_refused(R"({"type":"string","enum":["a"],"minLength":2})", "no finite value");
  check_refused(R"({"enum":[[1]],"minItems":2})", "\"minItems\" beside");
  check_refused(R"({"type":"string","pattern":"(a{1000}){1000}"})", "too large");
  check_refused(R"({"type":"array","minItems":1000000000})", "too large");
  check_refused(R"({"minLength":-1})", "\"minLength\"");
  check_refused("[]", "it is no schema");
}

TEST_CASE("oneOf is enforced where its alternatives cannot overlap") {
  CHECK(refusal_of(R"({"oneOf":[{"const":1},{"const":2},{"type":"string"}]})") == "");
  CHECK(refusal_of(R"({"oneOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b"}],"$defs":{
      "a":{"type":"object","properties":{"k":{"const":"a"}},"required":["k"]},
      "b":{"type":"object","properties":{"k":{"enum":["b","c"]}},"required":["k"]}}})") == "");
  CHECK(refusal_of(R"({"oneOf":[
      {"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":false},
      {"type":"object","properties":{"b":{}},"required":["b"],"additionalProperties":false}]})") ==
        "");
}

TEST_CASE("not: other types, values, texts and objects") {
  check({
      {R"({"not":{"type":["object","string"]}})", {"1", "1.5", "null", "[]"}, {"{}", "\"a\""}},
      {R"({"not":{"type":"integer"}})", {"1.5", "\"a\""}, {"1", "-30", "1.0"}},
      {R"({"type":"string","not":{"enum":["a","b\"c"]}})",
       {"\"\"", "\"ab\"", "\"b\""},
       {"\"a\"", R"("b\"c")", R"("\u0061")"}},
      {R"({"type":"string","not":{"pattern":"^x"}})", {"\"ax\"", "\"\""}, {"\"x\"", "\"xa\""}},
      {R"({"type":"integer","not":{"const":5}})", {"4", "6", "-5"}, {"5"}},
      {R"({"properties":{"a":{"type":"integer"},"b":true},"not":{"required":["a"]}})",
       {"{}", R"({"b":1})"},
       {R"({"a":1})"}},
      {R"({"properties":{"a":{"enum":[1,2,3]}},"not":{"properties":{"a":{"const":2}}}})",
       {R"({"a":1})", R"({"a":3})"},
       {R"({"a":2})", "{}"}},
      {R"({"not":{"anyOf":[{"type":"string"},{"type":"array"}]}})", {"1", "{}"}, {"\"a\"", "[]"}},
  });
}

TEST_CASE("if, then, else; and what a property wants beside it") {
  const char* const by_kind = R"({"required":["k"],"properties":{"k":{"enum":["a","b","c"]},
      "x":{"type":"integer"}},"allOf":[
      {"if":{"properties":{"k":{"const":"a"}}},"then":{"required":["x"]}},
      {"if":{"properties":{"k":{"const":"b"}}},"then":{"properties":{"x":false}}}]})";
  check({
      {by_kind,
       {R"({"k":"a","x":1})", R"({"k":"b"})", R"({"k":"c"})", R"({"k":"c","x":1})"},
       {R"({"k":"a"})", R"({"k":"b","x":1})", "{}"}},
      {R"({"type":"integer","if":{"minimum":5},"then":{"maximum":7},"else":{"minimum":3}})",
       {"3", "4", "5", "7"},
       {"2", "8"}},
      {R"({"properties":{"a":true,"b":true},"dependentRequired":{"a":["b"]}})",
       {"{}", R"({"b":1})", R"({"a":1,"b":1})"},
       {R"({"a":1})"}},
      {R"({"properties":{"a":true,"b":true},"dependencies":{"a":{"properties":{"b":{"const":1}}}}})",
       {R"({"b":2})", R"({"a":1,"b":1})"},
       {R"({"a":1,"b":2})"}},
  });
}

TEST_CASE("of overlapping alternatives of oneOf each is without the others") {
  check({
      {R"({"oneOf":[{"type":"integer"},{"type":"number","minimum":0}]})",
       {"-1", "0.5"},
       {"1", "-0.5"}},
      {R"({"oneOf":[{"properties":{"k":{"const":"a"}},"required":["k"]},
                    {"properties":{"k":{"const":"b"}},"required":["k"]}]})",
       {R"({"k":"a"})", R"({"k":"b"})"},
       {"{}", R"({"k":"c"})"}},
  });
}

TEST_CASE("names by patterns") {
  check({
      {R"({"patternProperties":{"^x-":{"type":"integer"},"\\d$":{"type":"string"}}})",
       {"{}", R"({"x-a":1})", R"({"a1":"s","x-b":2})"},
       {R"({"x-a":"s"})", R"({"a1":1})", R"({"y":1})", R"({"x-1":1})"}},
      {R"({"properties":{"x-a":{"maximum":3}},"patternProperties":{"^x-":{"type":"integer"}},
           "additionalProperties":{"type":"null"}})",
       {R"({"x-a":3})", R"({"x-a":1,"x-b":9})", R"({"z":null})"},
       {R"({"x-a":2.5})", R"({"x-a":4})", R"({"z":1})"}},
      {R"({"propertyNames":{"pattern":"^[a-c]+$","maxLength":2}})",
       {R"({"a":1,"bc":{}})", "{}"},
       {R"({"d":1})", R"({"abc":1})"}},
      {R"({"propertyNames":{"enum":["a","b"]},"additionalProperties":{"const":1}})",
       {R"({"a":1,"b":1})"},
       {R"({"c":1})", R"({"a":2})"}},
  });
}

TEST_CASE("items that are contained, distinct, and multiples") {
  check({
      {R"({"contains":{"const":5},"items":{"type":"integer"}})", {"[5]", "[5, 1]"}, {"[]", "[1]"}},
      {R"({"contains":{"const":5},"maxContains":1})", {"[5]", "[5, 1]"}, {"[5, 5]"}},
      {R"({"uniqueItems":true,"items":{"enum":["a","b",1]},"minItems":1})",
       {R"(["a"])", R"(["a", 1])", R"(["a","b",1])"},
       {"[]", R"(["a","a"])", R"(["c"])"}},
      {R"({"type":"array","uniqueItems":true})", {"[]", "[3]"}, {"[3,3]"}},
      {R"({"type":"integer","multipleOf":7,"minimum":-20})",
       {"0", "14", "-14", "70"},
       {"1", "-21", "15"}},
      {R"({"type":"number","multipleOf":2.5})", {"5", "-10", "0"}, {"1", "2"}},
  });
}

TEST_CASE("what older drafts wrote") {
  check({
      {R"({"type":"integer","minimum":3,"exclusiveMinimum":true})", {"4"}, {"3"}},
      {R"({"items":[{"const":1}],"additionalItems":{"const":2}})",
       {"[1]", "[1, 2]"},
       {"[2]", "[1, 1]"}},
      {R"({"$ref":"#a","definitions":{"x":{"$id":"#a","type":"integer"}}})", {"1"}, {"\"a\""}},
      {R"({"$id":"http://a.b/c.json","properties":{"d":{"$ref":"c.json#/definitions/e"}},
           "definitions":{"e":{"const":1}}})",
       {R"({"d":1})"},
       {R"({"d":2})"}},
      {R"({"$ref":"http://json-schema.org/draft-07/schema#"})", {R"({"type":"object"})"}, {"1"}},
  });
}

TEST_CASE("merging is exact: a property that one names is what the other says of others") {
  check({
      {R"({"allOf":[{"properties":{"a":{"type":"integer"}},"additionalProperties":{"maximum":3}},
                    {"properties":{"b":{"type":"integer"}}}]})",
       {R"({"a":9,"b":3})"},
       {R"({"b":4})", R"({"a":1.5})"}},
      {R"({"allOf":[{"prefixItems":[{"type":"integer"}],"items":{"maximum":3}},
                    {"prefixItems":[{"minimum":1},{"type":"integer"}],"items":{"type":"integer"}}]})",
       {"[9, 3, -1]"},
       {"[0]", "[1, 4]", "[1, 1, 4]"}},
      {R"({"properties":{"a":true},"allOf":[{"properties":{"b":true}}],"unevaluatedProperties":false})",
       {R"({"a":1,"b":1})"},
       {R"({"c":1})"}},
  });
}

}  // namespace
}  // namespace pc::constrain::test
