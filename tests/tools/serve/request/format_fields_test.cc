#include "tools/serve/request/format_fields.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace pc::serve {
namespace {

using Kind = Format::Kind;
using Read = Format (*)(Fields&);

Format read(Read read, const std::string& body) {
  Fields fields(read_body(body));
  return read(fields);
}

std::string refused(Read read_as, const std::string& body) {
  try {
    read(read_as, body);
  } catch (const ApiError& error) {
    CHECK(error.status() == 400);
    return error.openai()["error"]["param"].string();
  }
  return "nothing";
}

TEST_CASE("a schema is found wherever a client's protocol has it") {
  const Json schema = Json::read(R"({"type":"object"})");
  for (
      const auto& [read_as, body, where] : std::vector<std::tuple<Read, const char*, const char*>>{
          {openai_format,
           R"({"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"object"}}}})",
           "response_format.json_schema.schema"},
          {openai_format,
           R"({"response_format":{"type":"json_schema","schema":{"type":"object"}}})",
           "response_format.schema"},
          {openai_format,
           R"({"response_format":{"type":"json_object","schema":{"type":"object"}}})",
           "response_format.schema"},
          {openai_format, R"({"json_schema":{"type":"object"}})", "json_schema"},
          {openai_format, R"({"guided_json":{"type":"object"}})", "guided_json"},
          {openai_format, R"({"guided_json":"{\"type\":\"object\"}"})", "guided_json"},
          {openai_format, R"({"structured_outputs":{"json":{"type":"object"}}})",
           "structured_outputs.json"},
          {openai_format, R"({"response_format":{"type":"text"},"guided_json":{"type":"object"}})",
           "guided_json"},
          {responses_format,
           R"({"text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"}}}})",
           "text.format.schema"},
          {anthropic_format,
           R"({"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}})",
           "output_config.format.schema"},
          {anthropic_format,
           R"({"output_format":{"type":"json_schema","schema":{"type":"object"}}})",
           "output_format.schema"}}) {
    INFO(body);
    const Format format = read(read_as, body);
    CHECK(format.kind == Kind::kSchema);
    CHECK(format.schema == schema);
    CHECK(format.where == where);
  }
}

TEST_CASE("other forms: any JSON, one of some texts, or none") {
  CHECK(read(openai_format, R"({"response_format":{"type":"json_object"}})").kind == Kind::kJson);
  CHECK(read(openai_format, R"({"structured_outputs":{"json_object":true}})").kind == Kind::kJson);
  for (const char* const body :
       {R"({"guided_choice":["yes","no"]})", R"({"structured_outputs":{"choice":["yes","no"]}})"}) {
    const Format format = read(openai_format, body);
    CHECK(format.kind == Kind::kChoice);
    CHECK(format.choices == std::vector<std::string>{"yes", "no"});
  }
  for (const char* const body :
       {R"({"grammar":"root ::= \"a\""})", R"({"guided_grammar":"root ::= \"a\""})",
        R"({"structured_outputs":{"grammar":"root ::= \"a\""}})"}) {
    const Format grammar = read(openai_format, body);
    CHECK(grammar.kind == Kind::kGbnf);
    CHECK(grammar.gbnf == "root ::= \"a\"");
  }
  for (const char* const body : {"{}", R"({"response_format":{"type":"text"}})",
                                 R"({"grammar":"","json_schema":null,"structured_outputs":{}})"})
    CHECK(read(openai_format, body).kind == Kind::kText);
  CHECK(read(anthropic_format, R"({"output_config":{"effort":"low"}})").kind == Kind::kText);
}

TEST_CASE("a form that cannot be held to is refused by its name") {
  for (const auto& [read_as, body, param] : std::vector<std::tuple<Read, const char*, const char*>>{
           {openai_format, R"({"grammar":5})", "grammar"},
           {openai_format, R"({"grammar":"x","json_schema":{}})", "grammar"},
           {openai_format, R"({"guided_regex":"a+"})", "guided_regex"},
           {openai_format, R"({"guided_grammar":"x","grammar":"y"})", "guided_grammar"},
           {openai_format, R"({"structured_outputs":{"regex":"a+"}})", "structured_outputs.regex"},
           {openai_format, R"({"structured_outputs":{"structural_tag":"{}"}})",
            "structured_outputs.structural_tag"},
           {openai_format, R"({"guided_json":"{"})", "guided_json"},
           {openai_format, R"({"json_schema":5})", "json_schema"},
           {openai_format, R"({"guided_choice":[]})", "guided_choice"},
           {openai_format, R"({"guided_choice":[""]})", "guided_choice"},
           {openai_format, R"({"guided_choice":"yes"})", "guided_choice"},
           {openai_format, R"({"response_format":{"type":"grammar"}})", "response_format.type"},
           {openai_format, R"({"response_format":{"type":"json_object","schema":5}})",
            "response_format.schema"},
           {openai_format, R"({"response_format":{"type":"json_object"},"guided_json":{}})",
            "guided_json"},
           {anthropic_format, R"({"output_format":{"type":"json_object"}})", "output_format.type"},
           {anthropic_format, R"({"output_config":{"format":{"type":"json_schema"}}})",
            "output_config.format.schema"}}) {
    INFO(body);
    CHECK(refused(read_as, body) == param);
  }
}

TEST_CASE("what a form has beside what is read is named") {
  Fields body(read_body(
      R"({"response_format":{"type":"json_object","x":1},"structured_outputs":{"whitespace_pattern":" "}})"));
  openai_format(body);
  CHECK(body.unread() ==
        std::vector<std::string>{"response_format.x", "structured_outputs.whitespace_pattern"});
}

}  // namespace
}  // namespace pc::serve
