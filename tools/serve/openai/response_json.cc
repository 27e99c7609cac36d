#include "tools/serve/openai/response_json.h"

#include "tools/serve/request/names.h"

namespace pc::serve {
namespace {

const char* name_of(ItemStatus status) {
  switch (status) {
    case ItemStatus::kInProgress:
      return "in_progress";
    case ItemStatus::kCompleted:
      return "completed";
    case ItemStatus::kIncomplete:
      return "incomplete";
  }
  return "";
}

Json message_item(const Json& item, const Block& block, const Json& logprobs, bool has_content) {
  const Json content =
      has_content ? Json::array().push(text_part(block.text, logprobs)) : Json::array();
  return Json(item).set("type", "message").set("role", "assistant").set("content", content);
}

Json thought_item(const Json& item, const Block& block, bool has_content) {
  const Json content = has_content ? Json::array().push(thought_part(block.text)) : Json::array();
  return Json(item).set("type", "reasoning").set("summary", Json::array()).set("content", content);
}

Json call_item(const Json& item, const MadeCall& call, bool has_content) {
  return Json(item)
      .set("type", "function_call")
      .set("call_id", call.id)
      .set("name", call.name)
      .set("arguments", has_content ? call.arguments : "");
}

}  // namespace

Json text_part(const std::string& text, const Json& logprobs) {
  return Json::object()
      .set("type", "output_text")
      .set("text", text)
      .set("annotations", Json::array())
      .set("logprobs", logprobs);
}

Json thought_part(const std::string& text) {
  return Json::object().set("type", "reasoning_text").set("text", text);
}

std::string new_item_name(const Block& block) {
  switch (block.kind) {
    case Block::Kind::kThought:
      return new_name("rs_");
    case Block::Kind::kText:
      return new_name("msg_");
    case Block::Kind::kCall:
      return new_name("fc_");
  }
  return "";
}

Json item_json(const std::string& id, const Block& block, const Json& logprobs, bool has_content,
               ItemStatus status) {
  const Json item = Json::object().set("id", id).set("status", name_of(status));
  switch (block.kind) {
    case Block::Kind::kThought:
      return thought_item(item, block, has_content);
    case Block::Kind::kText:
      return message_item(item, block, logprobs, has_content);
    case Block::Kind::kCall:
      return call_item(item, block.call, has_content);
  }
  return item;
}

Json answer_message(const GatheredAnswer& answer) {
  Json message = Json::object().set("role", "assistant").set("content", answer.text());
  const std::string thought = answer.text(Block::Kind::kThought);
  if (!thought.empty()) message.set("reasoning_content", thought);
  Json calls = Json::array();
  for (const MadeCall& call : answer.calls())
    calls.push(
        Json::object()
            .set("id", call.id)
            .set("type", "function")
            .set("function", Json::object().set("name", call.name).set("arguments", call.input())));
  return calls.items().empty() ? message : message.set("tool_calls", calls);
}

Json responses_usage(const Usage& usage) {
  return Json::object()
      .set("input_tokens", usage.prompt_tokens)
      .set("input_tokens_details", Json::object()
                                       .set("cached_tokens", usage.cached_tokens)
                                       .set("cache_write_tokens", usage.written_tokens))
      .set("output_tokens", usage.generated_tokens)
      .set("output_tokens_details", Json::object().set("reasoning_tokens", usage.thought_tokens))
      .set("total_tokens", usage.prompt_tokens + usage.generated_tokens);
}

}  // namespace pc::serve
