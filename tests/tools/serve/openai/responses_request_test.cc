#include "tools/serve/openai/responses_request.h"

#include <catch2/catch.hpp>
#include <string>

namespace pc::serve {
namespace {

ResponsesRequest read(const std::string& body) {
  return read_responses(read_body(body), {});
}

// The parameter that a refusal names.
std::string refused(const std::string& fields) {
  try {
    read("{\"input\": \"Hi\", " + fields + "}");
  } catch (const ApiError& error) {
    CHECK(error.status() == 400);
    return error.openai()["error"]["param"].string();
  }
  return "nothing";
}

std::string refused_item(const std::string& item) {
  try {
    read("{\"input\": [" + item + "]}");
  } catch (const ApiError& error) {
    return error.openai()["error"]["param"].string();
  }
  return "nothing";
}

TEST_CASE("an input that is a text is the user's turn, behind the instructions") {
  ResponsesRequest request = read(R"({"input": "Hi", "instructions": "Be brief.", "new": 1})");
  go_on(Json::array(), &request);
  CHECK(request.question.chat == Json::read(R"({"messages": [
      {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]})"));
  CHECK(request.conversation == Json::read(R"([{"role": "user", "content": "Hi"}])"));
  CHECK(request.question.ignored == std::vector<std::string>{"new"});
  CHECK(request.stores);
  CHECK(request.echo["instructions"] == Json("Be brief."));
}

TEST_CASE("items become messages, and calls part of the answer that made them") {
  ResponsesRequest request = read(R"({"input": [
      {"role": "developer", "content": "Be kind."},
      {"role": "user", "content": [{"type": "input_text", "text": "Time?"}]},
      {"type": "reasoning", "summary": []},
      {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
       "content": [{"type": "output_text", "text": "Let me see.", "annotations": []}]},
      {"type": "function_call", "call_id": "c1", "name": "now", "arguments": "{}"},
      {"type": "function_call", "call_id": "c2", "name": "now", "arguments": "{\"in\": \"Oslo\"}"},
      {"type": "function_call_output", "call_id": "c1", "output": "noon"},
      {"type": "function_call_output", "call_id": "c2",
       "output": [{"type": "input_text", "text": "one"}]},
      {"type": "function_call", "call_id": "c3", "name": "now", "arguments": ""}]})");
  CHECK(request.conversation == Json::read(R"([
      {"role": "system", "content": "Be kind."}, {"role": "user", "content": "Time?"},
      {"role": "assistant", "content": "Let me see.", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "now", "arguments": {}}},
        {"id": "c2", "type": "function", "function": {"name": "now", "arguments": {"in": "Oslo"}}}]},
      {"role": "tool", "tool_call_id": "c1", "content": "noon"},
      {"role": "tool", "tool_call_id": "c2", "content": "one"},
      {"role": "assistant", "content": "", "tool_calls": [
        {"id": "c3", "type": "function", "function": {"name": "now", "arguments": {}}}]}])"));
}

TEST_CASE("a request goes on behind an earlier conversation, whose instructions are gone") {
  ResponsesRequest request =
      read(R"({"input": "And?", "previous_response_id": "r", "instructions": "New."})");
  CHECK(request.previous == "r");
  go_on(Json::read(R"([{"role": "user", "content": "Hi"}])"), &request);
  CHECK(request.conversation.items().size() == 2);
  CHECK(request.question.chat["messages"].items().size() == 3);
  CHECK(request.question.chat["messages"].items()[0]["content"] == Json("New."));
}

TEST_CASE("tools are flat, and none where the request wants none") {
  const std::string tools =
      R"("tools": [{"type": "function", "name": "f", "strict": true, "parameters": {"type": "object"}}])";
  ResponsesRequest request = read("{\"input\": \"Hi\", " + tools + "}");
  go_on(Json::array(), &request);
  CHECK(request.question.chat["tools"] == Json::read(R"([{"type": "function", "function": {
      "name": "f", "strict": true, "parameters": {"type": "object"}}}])"));
  CHECK(request.question.ignored.empty());
  CHECK(request.echo["tools"].items().front()["name"] == Json("f"));
  // The prompt stays as it was where an answer can be kept from calls.
  const Json none = read_body("{\"input\": \"Hi\", \"tool_choice\": \"none\", " + tools + "}");
  for (const bool holds_calls : {false, true}) {
    request = read_responses(none, {{}, {}, holds_calls});
    go_on(Json::array(), &request);
    CHECK(request.question.chat["tools"].is_null() == !holds_calls);
  }
}

TEST_CASE("what other servers' tools leave behind is left out, and told; thoughts are kept") {
  const ResponsesRequest request = read(R"({"input": [
      {"role": "user", "content": "Hi"},
      {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {}},
      {"type": "reasoning", "id": "rs_1", "summary": [], "content": [
        {"type": "reasoning_text", "text": "Hm."}]},
      {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{\"a\": "},
      {"type": "custom_tool_call", "call_id": "c2", "name": "patch", "input": "*** Begin"},
      {"type": "custom_tool_call_output", "call_id": "c2", "output": null},
      {"type": "reasoning", "summary": [{"type": "summary_text", "text": "So."}]},
      {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}],
      "tools": [{"type": "web_search"}, {"type": "function", "name": "f"},
                {"type": "namespace", "name": "mcp", "tools": []}]})");
  CHECK(request.conversation == Json::read(R"([
      {"role": "user", "content": "Hi"},
      {"role": "assistant", "content": "", "reasoning_content": "Hm.", "tool_calls": [
        {"id": "c1", "type": "function",
         "function": {"name": "f", "arguments": {"input": "{\"a\": "}}},
        {"id": "c2", "type": "function",
         "function": {"name": "patch", "arguments": {"input": "*** Begin"}}}]},
      {"role": "tool", "tool_call_id": "c2", "content": ""},
      {"role": "assistant", "content": "No."}])"));
  CHECK(request.tools == Json::read(R"([{"type": "function", "function": {
      "name": "f", "parameters": {"type": "object", "properties": {}}}}])"));
  CHECK(request.question.ignored ==
        std::vector<std::string>{"input[1]", "input[6]", "tools[0]", "tools[2]"});
  REQUIRE(request.question.remarks.size() == 5);
  CHECK(request.question.remarks[1].starts_with("input[3].arguments is no JSON object"));
}

TEST_CASE("what is read and means nothing here is named, with what it is in") {
  const ResponsesRequest request = read(
      R"({"input": "Hi", "include": ["reasoning.encrypted_content"], "parallel_tool_calls": false,
          "text": {"format": {"type": "text"}, "verbosity": "low"}, "reasoning": {"summary": "auto"}})");
  CHECK(request.question.ignored == std::vector<std::string>{"include.reasoning.encrypted_content",
                                                             "reasoning.summary",
                                                             "text.verbosity"});
  CHECK(request.question.one_call);
  CHECK_FALSE(request.echo["parallel_tool_calls"].truth());
}

TEST_CASE("fields that cannot be meant are named") {
  for (const auto& [fields, param] : std::vector<std::pair<const char*, const char*>>{
           {R"("max_output_tokens": 0)", "max_output_tokens"},
           {R"("temperature": 3)", "temperature"},
           {R"("top_p": -1)", "top_p"},
           {R"("instructions": [])", "instructions"},
           {R"("stream": 1)", "stream"},
           {R"("store": "no")", "store"},
           {R"("metadata": [])", "metadata"},
           {R"("background": true)", "background"},
           {R"("truncation": "most")", "truncation"},
           {R"("conversation": "c")", "conversation"},
           {R"("prompt": {})", "prompt"},
           {R"("top_logprobs": 2)", "top_logprobs"},
           {R"("tool_choice": "required")", "tool_choice"},
           {R"("tools": [{"type": 5}])", "tools[0].type"},
           {R"("tools": [{"type": "function"}])", "tools[0].name"},
           {R"("tools": [{"type": "function", "name": "f"}, {"type": "function", "name": "f"}])",
            "tools"},
           {R"("tools": [{"type": "function", "name": "f", "parameters": 5}])",
            "tools[0].parameters"},
           {R"("text": {"format": {"type": "xml"}})", "text.format.type"},
           {R"("text": 5)", "text"},
           {R"("previous_response_id": 5)", "previous_response_id"},
           {R"("prompt_cache": {"mode": "magic"})", "prompt_cache.mode"}}) {
    INFO(fields);
    CHECK(refused(fields) == param);
  }
}

TEST_CASE("items that cannot be meant are named") {
  for (const auto& [item, param] : std::vector<std::pair<const char*, const char*>>{
           {"", "input"},
           {"5", "input[0]"},
           {R"({"type": "item_reference", "id": "x"})", "input[0].type"},
           {R"({"content": "x"})", "input[0].role"},
           {R"({"role": "tool", "content": "x"})", "input[0].role"},
           {R"({"role": "user"})", "input[0].content"},
           {R"({"role": "user", "content": [{"type": "input_image"}]})",
            "input[0].content[0].type"},
           {R"({"type": "function_call", "name": "f"})", "input[0].call_id"},
           {R"({"type": "function_call", "call_id": "c"})", "input[0].name"},
           {R"({"type": "custom_tool_call", "call_id": "c", "name": "f"})", "input[0].input"},
           {R"({"type": "weather_call", "call_id": "c"})", "input[0].type"},
           {R"({"type": "function_call_output", "output": "x"})", "input[0].call_id"},
           {R"({"type": "function_call_output", "call_id": "c", "output": 5})",
            "input[0].output"}}) {
    INFO(item);
    CHECK(refused_item(item) == param);
  }
}

}  // namespace
}  // namespace pc::serve
