#include "tools/serve/request/conversation_json.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tools/serve/request/answer_fields.h"

namespace pc::serve {
namespace {

struct Read {
  Json messages;
  std::vector<std::string> unread, remarks;
};

Read read(const std::string& messages) {
  Fields body(read_body("{\"messages\": " + messages + "}"));
  const Json list = messages_of(body);
  return {list, body.unread(), body.remarks()};
}

std::string refused(const std::string& messages) {
  try {
    read(messages);
  } catch (const ApiError& error) {
    return error.openai()["error"]["param"].string();
  }
  return "nothing";
}

TEST_CASE("a history is taken as its server and its clients left it") {
  const Read all = read(R"([
      {"role": "developer", "content": "x-anthropic-billing-header: cch=1;\nBe kind."},
      {"role": "user", "content": "Hi"},
      {"role": "assistant", "content": null, "refusal": null, "annotations": [], "audio": null},
      {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
      {"role": "assistant", "content": null, "refusal": "Never."},
      {"role": "assistant", "content": [{"type": "text", "text": ""}], "reasoning_content": "Hm."},
      {"role": "tool", "content": null, "tool_call_id": "a"},
      {"role": "function", "name": "f", "content": "42"}])");
  CHECK(all.messages == Json::read(R"([
      {"role": "system", "content": "Be kind."},
      {"role": "user", "content": "Hi"},
      {"role": "assistant", "content": ""},
      {"role": "assistant", "content": "No."},
      {"role": "assistant", "content": "Never."},
      {"role": "assistant", "content": "", "reasoning_content": "Hm."},
      {"role": "tool", "content": "", "tool_call_id": "a"},
      {"role": "tool", "name": "f", "content": "42"}])"));
  CHECK(all.unread == std::vector<std::string>{"messages[0].content"});
}

TEST_CASE("arguments of calls lose nothing, whatever an answer that was cut off left of them") {
  for (const auto& [arguments, wanted] : std::vector<std::pair<const char*, const char*>>{
           {R"("{\"city\": \"Oslo\"}")", R"({"city": "Oslo"})"},
           {R"({"city": "Oslo"})", R"({"city": "Oslo"})"},
           {R"("")", "{}"},
           {"null", "{}"},
           {R"("{\"city\": \"Os")", R"({"input": "{\"city\": \"Os"})"},
           {R"("[1]")", R"({"input": "[1]"})"},
           {"[1]", R"({"input": "[1]"})"}}) {
    INFO(arguments);
    const std::string call =
        std::string(R"([{"role": "assistant", "content": null, "tool_calls": [{"id": "a",
            "type": "function", "index": 0, "function": {"name": "f", "arguments": )") +
        arguments + "}}]}]";
    const Read all = read(call);
    const Json function = all.messages.items()[0]["tool_calls"].items()[0]["function"];
    CHECK(function["arguments"] == Json::read(wanted));
    CHECK(all.unread.empty());
    CHECK(all.remarks.size() == (Json::read(wanted)["input"].is_null() ? 0 : 1));
  }
  const Read old = read(R"([
      {"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{}"}},
      {"role": "assistant", "tool_calls": [
        {"id": "b", "type": "custom", "custom": {"name": "g", "input": "*** Begin"}}]}])");
  CHECK(old.messages == Json::read(R"([
      {"role": "assistant", "content": "", "tool_calls": [
        {"type": "function", "function": {"name": "f", "arguments": {}}}]},
      {"role": "assistant", "content": "", "tool_calls": [
        {"id": "b", "type": "function",
         "function": {"name": "g", "arguments": {"input": "*** Begin"}}}]}])"));
}

TEST_CASE("what a model cannot be told is refused") {
  CHECK(refused(R"([{"role": "user", "content": null}])") == "messages[0].content");
  CHECK(refused(R"([{"role": "observer", "content": "x"}])") == "messages[0].role");
  CHECK(refused(R"([{"role": "user", "content": [{"type": "image_url"}]}])") ==
        "messages[0].content[0].type");
}

TEST_CASE("what is no function is left out and told, and only allowed tools are called") {
  Fields body(read_body(R"({"tool_choice": {"type": "allowed_tools", "allowed_tools": {
        "mode": "required", "tools": [{"type": "function", "function": {"name": "b"}}]}},
      "tools": [{"type": "web_search"}, {"function": {"name": "a", "strict": true}},
                {"type": "custom", "custom": {"name": "p"}},
                {"type": "function", "function": {"name": "b", "new": 1}, "defer_loading": true}]})"));
  const Json tools = tools_of(body);
  CHECK(tools.items().size() == 2);
  const ToolChoice choice = openai_tool_choice(body, tools);
  CHECK(choice.kind == ToolChoice::Kind::kRequired);
  CHECK((choice.lets_call("b") && !choice.lets_call("a")));
  CHECK(body.unread() ==
        std::vector<std::string>{"tools[0]", "tools[2]", "tools[3].defer_loading"});
  Fields strict(read_body(R"({"tools": [{"function": {"name": "a", "strict": true}}]})"));
  CHECK(tools_of(strict).items().front()["function"]["strict"].truth());
  CHECK(strict.unread().empty());
  Fields none(read_body(R"({"tools": [{"type": "mcp", "server_url": "x"}]})"));
  CHECK(tools_of(none).is_null());
}

TEST_CASE("a prompt keeps the tools that may not be called, where answers can be held") {
  const Json tools = Json::read(R"([{"function": {"name": "a"}}, {"function": {"name": "b"}}])");
  const Json one = Json::read(R"([{"function": {"name": "b"}}])");
  const auto left = [&](const ToolChoice& choice) { return tools_in_prompt(tools, choice, {}); };
  CHECK(left({ToolChoice::Kind::kNone}).is_null());
  CHECK(left({ToolChoice::Kind::kAuto, "", {"b"}}) == one);
  CHECK(left({ToolChoice::Kind::kAuto}) == tools);
  CHECK(left({ToolChoice::Kind::kNamed, "b"}) == tools);  // the answer is a call, and held to be
  for (const ToolChoice& choice :
       {ToolChoice{ToolChoice::Kind::kNone}, ToolChoice{ToolChoice::Kind::kAuto, "", {"b"}}})
    CHECK(tools_in_prompt(tools, choice, {{}, {}, true}) == tools);
}

}  // namespace
}  // namespace pc::serve
