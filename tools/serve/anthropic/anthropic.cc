#include "tools/serve/anthropic/anthropic.h"

#include <algorithm>
#include <utility>

#include "tools/serve/anthropic/anthropic_messages.h"
#include "tools/serve/request/answer_fields.h"
#include "tools/serve/request/format_fields.h"
#include "tools/serve/request/sampling_fields.h"

namespace pc::serve {
namespace {

constexpr std::size_t kMostStops = 16;

void read_sampling(Fields& fields, bool counts, Sampling* s) {
  const auto most = fields.integer("max_tokens", 1, UINT32_MAX);
  if (!most && !counts) fields.refuse("max_tokens", "is missing: an integer");
  if (most) s->max_tokens = static_cast<std::uint32_t>(*most);
  s->temperature = static_cast<float>(fields.number("temperature", 0, 1).value_or(1));
  s->top_p = static_cast<float>(fields.number("top_p", 0, 1).value_or(1));
  s->top_k = static_cast<std::uint32_t>(fields.integer("top_k", 0, UINT32_MAX).value_or(0));
  s->stop = fields.strings("stop_sequences", kMostStops);
}

Json conversation_of(Fields& fields, Question* question) {
  ToolChoice* const choice = &question->tool_choice;
  Json chat = Json::object().set("messages", anthropic_messages(fields));
  const Json tools = anthropic_tools(fields);
  *choice = anthropic_tool_choice(fields, tools, &question->one_call);
  if (!tools.is_null() && choice->kind != ToolChoice::Kind::kNone) chat.set("tools", tools);
  return chat;
}

}  // namespace

AnthropicRequest read_anthropic(const Json& body, const ModelFacts& model, bool counts) {
  Fields fields(body);
  check_model(fields, model.id);
  AnthropicRequest request;
  read_sampling(fields, counts, &request.question.sampling);
  request.question.chat = conversation_of(fields, &request.question);
  request.streams = fields.boolean("stream").value_or(false);
  request.question.format = anthropic_format(fields);
  if (auto metadata = fields.nested("metadata"))
    request.question.client = metadata->string("user_id").value_or("");
  read_mode(fields, &request.question);
  tell_unread(fields, &request.question);
  return request;
}

}  // namespace pc::serve
