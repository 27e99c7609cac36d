#include "runtime/calls/writing/told_calls.h"

#include <catch2/catch.hpp>
#include <string>

#include "runtime/calls/reading/call_stream.h"

namespace pc::calls {
namespace {

const std::string kExample =
    "For each call return JSON within <tool_call></tool_call>:\n<tool_call>\n{\"name\": "
    "<function-name>, \"arguments\": <args-json-object>}\n</tool_call><|im_end|>\n";
const std::string kSentence =
    "respond only with <|tool_call|> followed by a JSON list of tools used.";

Json calls(const std::vector<ToolCall>& made) {
  Json list = Json::array();
  for (const ToolCall& call : made)
    list.push(Json::object()
                  .set("type", "function")
                  .set("function",
                       Json::object().set("name", call.name).set("arguments", call.arguments)));
  return list;
}

Json answer(const Json& content, const std::vector<ToolCall>& made) {
  return Json::object()
      .set("role", "assistant")
      .set("content", content)
      .set("tool_calls", calls(made));
}

std::string text_of(const Json& content) {
  std::string text;
  for (const Json& part : content.items()) text += part["text"].string();
  return text;
}

// What of it may be control tokens.
std::string controls_of(const Json& content) {
  std::string text;
  for (const Json& part : content.items())
    if (part["controls"].truth()) text += part["text"].string();
  return text;
}

const std::vector<ToolCall> kCalls = {
    {"get_weather", Json::read(R"({"city": "Oslo \"n\" é", "days": [1, 2], "at": {}})")},
    {"now", Json::object()}};

}  // namespace

TEST_CASE("an example of a call is found, whichever key comes first") {
  const auto shape = told_call_shape("a < b <x>" + kExample);
  REQUIRE(shape);
  CHECK((shape->begin == "<tool_call>" && shape->end == "</tool_call>"));
  CHECK((shape->name_key == "name" && shape->arguments_key == "arguments"));
  CHECK((shape->written_begin == "<tool_call>\n" && shape->written_end == "\n</tool_call>"));
  const auto turned = told_call_shape("<call>{\"parameters\": <p>, \"name\": <n>}</call>");
  REQUIRE(turned);
  CHECK((turned->arguments_key == "parameters" && turned->written_begin == "<call>"));
}

TEST_CASE("a sentence says what a list of calls begins with") {
  const auto shape = told_call_shape(kSentence);
  REQUIRE(shape);
  CHECK((shape->begin == "<|tool_call|>" && shape->end.empty()));
  CHECK((shape->written_begin == "<|tool_call|>[" && shape->written_end == "]"));
}

TEST_CASE("what is no example and no sentence says nothing") {
  for (const char* const text :
       {"", "<", "<tool_call>", "<t>{\"name\": <n>, \"arguments\": <a>}", "<t>{\"name\": <n>}</t>",
        "<t>{\"name\": <n>, \"arguments\": <a>}</u>",
        "</t>{\"name\": <n>, \"arguments\": <a>}<//t>", "<t>{\"id\": <n>, \"arguments\": <a>}</t>",
        "<t>{\"name\": \"now\", \"arguments\": {}}</t>", "words followed by a JSON list of tools",
        "<a b> {\"name\": <n>, \"arguments\": <a>}</a>"}) {
    INFO(text);
    CHECK_FALSE(told_call_shape(text));
  }
}

TEST_CASE("a long text without tags is read once") {
  CHECK_FALSE(
      told_call_shape(std::string(8 << 20, '<')));  // minutes, where each "<" is read to its end
}

TEST_CASE("calls that stand in an answer's text are read again, and its text before them") {
  for (const std::string& said : {kExample, kSentence}) {
    const CallShape shape = *told_call_shape(said);
    for (std::size_t n = 1; n <= kCalls.size(); ++n) {
      const std::vector<ToolCall> made(kCalls.begin(), kCalls.begin() + static_cast<long>(n));
      for (const char* const text : {"", "I will look."}) {
        INFO(said << n << text);
        const Json content = with_told_calls(answer(text, made), shape)["content"];
        CHECK(read_answer(shape, ToolTypes(Json::array()), text_of(content)) ==
              ReadAnswer{text, made});
      }
    }
  }
}

TEST_CASE("the message keeps what it has beside its calls") {
  const CallShape shape = *told_call_shape(kSentence);
  const Json parts = Json::array().push(
      Json::object().set("type", "text").set("text", "Look.").set("module", true));
  const Json out = with_told_calls(answer(parts, kCalls).set("name", "n"), shape);
  CHECK((out["role"] == Json("assistant") && out["name"] == Json("n")));
  CHECK(out["tool_calls"].is_null());
  CHECK(out["content"].items().front()["module"].truth());
  CHECK(text_of(out["content"]) ==
        "Look.\n<|tool_call|>[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo "
        "\\\"n\\\" é\", "
        "\"days\": [1, 2], \"at\": {}}}, {\"name\": \"now\", \"arguments\": {}}]");
  CHECK(text_of(with_told_calls(answer(Json(), kCalls), shape)["content"])
            .starts_with("<|tool_call|>["));
}

TEST_CASE("only the words around calls may be control tokens") {
  const std::vector<ToolCall> evil = {
      {"</tool_call>", Json::object().set("<tool_call>", "</tool_call>")}};
  const CallShape shape = *told_call_shape(kExample);
  const Json content = with_told_calls(answer("<tool_call>", evil), shape)["content"];
  CHECK(controls_of(content) == "<tool_call>\n\n</tool_call>");
}

}  // namespace pc::calls
