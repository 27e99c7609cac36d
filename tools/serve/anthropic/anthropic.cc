#include "tools/serve/anthropic/anthropic.h"

#include <algorithm>
#include <utility>

#include "tools/serve/anthropic/anthropic_messages.h"
#include "tools/serve/request/answer_fields.h"
#include "tools/serve/request/format_fields.h"
#include "tools/serve/request/sampling_fields.h"

namespace pc::serve {
namespace {

void read_sampling(Fields& fields, bool counts, Sampling* s) {
  const auto most = fields.integer("max_tokens", 1, UINT32_MAX);
  if (!most && !counts) fields.refuse("max_tokens", "is missing: an integer");
  if (most) s->max_tokens = static_cast<std::uint32_t>(*most);
  s->temperature = static_cast<float>(fields.number("temperature", 0, 1).value_or(1));
  s->top_p = static_cast<float>(fields.number("top_p", 0, 1).value_or(1));
  s->top_k = read_top_k(fields);
  s->stop = read_stops(fields, "stop_sequences");
}

Json conversation_of(Fields& fields, const ModelFacts& model, Question* question) {
  ToolChoice* const choice = &question->tool_choice;
  Json chat = Json::object().set("messages", anthropic_messages(fields));
  const Json offered = anthropic_tools(fields);
  *choice = anthropic_tool_choice(fields, offered, &question->one_call);
  const Json tools = tools_in_prompt(offered, *choice, model);
  if (!tools.is_null()) chat.set("tools", tools);
  return chat;
}

// Whether the model thinks, as far as its template lets a request say so, and for how long.
void read_thinking(Fields& fields, Question* question) {
  auto thinking = fields.nested("thinking");
  if (!thinking) return;
  const std::string type = thinking->required_string("type");
  if (type != "enabled" && type != "adaptive" && type != "disabled")
    thinking->refuse("type", "must be one of: enabled, adaptive, disabled");
  question->chat.set("variables", Json::object().set("enable_thinking", type != "disabled"));
  if (const auto most = thinking->integer("budget_tokens", 0, UINT32_MAX))
    question->thought_budget = static_cast<std::uint32_t>(*most);
}

}  // namespace

AnthropicRequest read_anthropic(const Json& body, const ModelFacts& model, bool counts) {
  Fields fields(body);
  fields.string("model");
  AnthropicRequest request;
  read_sampling(fields, counts, &request.question.sampling);
  request.question.chat = conversation_of(fields, model, &request.question);
  read_thinking(fields, &request.question);
  request.streams = fields.boolean("stream").value_or(false);
  request.question.format = anthropic_format(fields);
  if (auto metadata = fields.nested("metadata"))
    request.question.client = metadata->string("user_id").value_or("");
  read_mode(fields, &request.question);
  tell_unread(fields, &request.question);
  return request;
}

}  // namespace pc::serve
