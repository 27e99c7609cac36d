#include "tools/serve/openai/response_json.h"

#include "tools/serve/openai/openai_logprobs.h"

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

}  // namespace

Json text_part(const std::string& text, const Json& logprobs) {
  return Json::object()
      .set("type", "output_text")
      .set("text", text)
      .set("annotations", Json::array())
      .set("logprobs", logprobs);
}

Json message_item(const std::string& id, const Json& content, ItemStatus status) {
  return Json::object()
      .set("id", id)
      .set("type", "message")
      .set("role", "assistant")
      .set("status", name_of(status))
      .set("content", content);
}

Json call_item(const std::string& id, const MadeCall& made, const std::string& arguments,
               ItemStatus status) {
  return Json::object()
      .set("id", id)
      .set("type", "function_call")
      .set("call_id", made.id)
      .set("name", made.call.name)
      .set("arguments", arguments)
      .set("status", name_of(status));
}

Json output_items(const GatheredAnswer& answer, const ResponseNames& names, bool has_logprobs) {
  Json items = Json::array();
  const std::vector<MadeCall>& calls = answer.finish.calls;
  if (!answer.text.empty() || calls.empty()) {
    const Json logprobs = has_logprobs ? chat_logprobs(answer.tokens) : Json::array();
    const bool is_cut = answer.finish.how == PC_FINISH_LENGTH;
    items.push(message_item(names.message, Json::array().push(text_part(answer.text, logprobs)),
                            is_cut ? ItemStatus::kIncomplete : ItemStatus::kCompleted));
  }
  for (std::size_t i = 0; i < calls.size(); ++i)
    items.push(call_item(names.calls[i], calls[i], calls[i].call.arguments.dump(),
                         ItemStatus::kCompleted));
  return items;
}

Json answer_message(const GatheredAnswer& answer) {
  Json message = Json::object().set("role", "assistant").set("content", answer.text);
  if (answer.finish.calls.empty()) return message;
  Json calls = Json::array();
  for (const MadeCall& made : answer.finish.calls) {
    const Json function =
        Json::object().set("name", made.call.name).set("arguments", made.call.arguments);
    calls.push(Json::object().set("id", made.id).set("type", "function").set("function", function));
  }
  return message.set("tool_calls", calls);
}

Json responses_usage(const Usage& usage) {
  return Json::object()
      .set("input_tokens", usage.prompt_tokens)
      .set("input_tokens_details", Json::object()
                                       .set("cached_tokens", usage.cached_tokens)
                                       .set("cache_write_tokens", usage.written_tokens))
      .set("output_tokens", usage.generated_tokens)
      .set("output_tokens_details", Json::object().set("reasoning_tokens", 0))
      .set("total_tokens", usage.prompt_tokens + usage.generated_tokens);
}

}  // namespace pc::serve
