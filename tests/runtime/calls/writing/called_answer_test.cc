#include "runtime/calls/writing/called_answer.h"

#include <catch2/catch.hpp>

namespace pc::calls {
namespace {

const Json kObject = Json::read(R"({"role": "assistant", "content": "", "tool_calls": [
    {"id": "a", "type": "function", "function": {"name": "f", "arguments": {"n": 1}}}]})");
const Json kText = Json::read(R"({"role": "assistant", "content": "", "tool_calls": [
    {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"n\":1}"}}]})");

TEST_CASE("arguments in strings become objects, and what is none is named") {
  CHECK(*with_argument_objects(kText) == kObject);
  CHECK(*with_argument_objects(kObject) == kObject);
  const Json plain = Json::object().set("role", "user").set("content", "q");
  CHECK(*with_argument_objects(plain) == plain);
  for (const char* const none : {R"("")", "null"}) {
    const auto read = with_argument_objects(
        Json::read(std::string(R"({"tool_calls": [{"function": {"name": "f", "arguments": )") +
                   none + "}}]}"));
    REQUIRE(read.ok());
    CHECK((*read)["tool_calls"].items()[0]["function"]["arguments"] == Json::object());
  }
  for (const char* const bad : {R"({"function": {"name": "f", "arguments": "[1]"}})",
                                R"({"function": {"name": "f", "arguments": 3}})",
                                R"({"function": {"arguments": {}}})", R"({})", "3"}) {
    const auto read = with_argument_objects(
        Json::read(std::string(R"({"tool_calls": [{"function": {"name": "f"}}, )") + bad + "]}"));
    REQUIRE_FALSE(read.ok());
    CHECK(read.error().message.starts_with("tool_calls[1].function"));
  }
}

TEST_CASE("an answer with calls is what its template wants") {
  CallShape shape;
  CHECK(called_answer(kObject, shape) == kObject);
  shape.wants_text = true;
  CHECK(called_answer(kObject, shape) == kText);
  shape.wants_null = true;
  CHECK(called_answer(kObject, shape)["content"].is_null());
  CallShape told;
  told.is_told = true;
  told.name_key = "name";
  told.arguments_key = "arguments";
  told.written_begin = "<call>";
  told.written_end = "</call>";
  const Json written = called_answer(kObject, told);
  CHECK_FALSE(written.has("tool_calls"));
  CHECK(written["content"].items().size() == 3);
}

}  // namespace
}  // namespace pc::calls
