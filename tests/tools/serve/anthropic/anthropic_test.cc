#include "tools/serve/anthropic/anthropic.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tools/serve/request/fields.h"

namespace pc::serve {
namespace {

Question read(const std::string& fields) {
  return read_anthropic(read_body("{\"max_tokens\": 5, " + fields + "}"), {}, false).question;
}

std::string refused(const std::string& fields) {
  try {
    read(fields);
  } catch (const ApiError& error) {
    const std::string message = error.anthropic()["error"]["message"].string();
    return message.substr(0, message.find(' '));
  }
  return "nothing";
}

TEST_CASE("a line for the provider does not reach the model") {
  const Question question = read(R"("system": [
      {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1; cch=5;"},
      {"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
      "messages": [{"role": "user", "content": "x-anthropic-billing-header: what is it?"}])");
  CHECK(question.chat["messages"] == Json::read(R"([
      {"role": "system", "content": [{"type": "text", "text": "Be kind.", "marked": true}]},
      {"role": "user", "content": "x-anthropic-billing-header: what is it?"}])"));
  CHECK(question.ignored == std::vector<std::string>{"system[0]", "system[1].cache_control.ttl"});
}

TEST_CASE("documents and results of searches are text, with what they are called") {
  const Question question = read(R"("messages": [{"role": "user", "content": [
      {"type": "document", "title": "Tram", "context": "Of Vienna", "citations": {"enabled": true},
       "cache_control": {"type": "ephemeral"},
       "source": {"type": "text", "media_type": "text/plain", "data": "Six euros."}},
      {"type": "document", "source": {"type": "content", "content": [
        {"type": "text", "text": "A"}, {"type": "text", "text": "B"}]}},
      {"type": "search_result", "source": "https://a.example", "title": "T",
       "content": [{"type": "text", "text": "Found."}]},
      {"type": "text", "text": "So?"}]}])");
  CHECK(question.chat["messages"].items()[0]["content"] == Json::read(R"([
      {"type": "text", "text": "Tram\nOf Vienna\nSix euros.\n\n", "marked": true},
      {"type": "text", "text": "AB\n\n", "marked": false},
      {"type": "text", "text": "T\nhttps://a.example\nFound.\n\n", "marked": false},
      {"type": "text", "text": "So?", "marked": false}])"));
  CHECK(question.ignored == std::vector<std::string>{"messages[0].content[0].citations"});
  CHECK(refused(R"("messages": [{"role": "user", "content": [{"type": "document",
      "source": {"type": "base64", "media_type": "application/pdf", "data": "x"}}]}])") ==
        "messages[0].content[0].source.type");
  CHECK(refused(R"("messages": [{"role": "user", "content": [{"type": "image"}]}])") ==
        "messages[0].content[0].type");
}

TEST_CASE("a history is taken as it was answered") {
  const Question question = read(R"("messages": [{"role": "user", "content": "Hi"},
      {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": ""},
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
        {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
        {"type": "tool_use", "id": "b", "name": "f", "input": "{\"x\": "}]},
      {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "a", "is_error": true},
        {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "no"}]}]}])");
  CHECK(question.chat["messages"] == Json::read(R"([
      {"role": "user", "content": "Hi"},
      {"role": "assistant", "content": "", "reasoning_content": "Hm.", "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": {"x": 1}}},
        {"id": "b", "type": "function",
         "function": {"name": "f", "arguments": {"input": "{\"x\": "}}}]},
      {"role": "tool", "tool_call_id": "a", "content": "error"},
      {"role": "tool", "tool_call_id": "b", "content": "no"}])"));
  CHECK(question.ignored ==
        std::vector<std::string>{"messages[1].content[1]", "messages[1].content[3]",
                                 "messages[1].content[4]", "messages[2].content[0].is_error"});
}

TEST_CASE("the provider's own tools are left out and told, and the client's stay") {
  const Question question = read(R"("messages": [{"role": "user", "content": "Hi"}], "tools": [
      {"name": "read", "input_schema": {"type": "object", "properties": {}}},
      {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
      {"type": "bash_20250124", "name": "bash"}],
      "tool_choice": {"type": "auto", "disable_parallel_tool_use": true})");
  CHECK(question.chat["tools"].items().size() == 1);
  CHECK(question.ignored == std::vector<std::string>{"tools[1]", "tools[2]"});
  CHECK(question.remarks.size() == 2);
  CHECK(question.one_call);
}

}  // namespace
}  // namespace pc::serve
