#include "tools/serve/openai/openai_chat.h"

#include <utility>
#include <vector>

#include "tools/serve/request/answer_fields.h"
#include "tools/serve/request/conversation_json.h"
#include "tools/serve/request/format_fields.h"
#include "tools/serve/request/sampling_fields.h"
#include "tools/serve/request/schema_chat.h"

namespace pc::serve {
namespace {

constexpr std::int64_t kMostTopLogprobs = 20;

Json conversation_of(Fields& fields, const ModelFacts& model, ToolChoice* choice) {
  Json chat = Json::object().set("messages", messages_of(fields));
  const Json offered = tools_of(fields);
  *choice = openai_tool_choice(fields, offered);
  const Json tools = tools_in_prompt(offered, *choice, model);
  if (!tools.is_null()) chat.set("tools", tools);
  if (const Json variables = openai_variables(fields); !variables.is_null())
    chat.set("variables", variables);
  return chat;
}

void read_logprobs(Fields& fields, Question* question) {
  const bool wants = fields.boolean("logprobs").value_or(false);
  const auto top = fields.integer("top_logprobs", 0, kMostTopLogprobs);
  if (top && !wants) fields.refuse("top_logprobs", "needs \"logprobs\": true");
  if (wants) question->top_logprobs = static_cast<std::uint32_t>(top.value_or(0));
}

}  // namespace

void read_openai_answer(Fields& fields, const ModelFacts& model, OpenAiRequest* request) {
  read_sampling(fields, model, &request->question);
  read_logprobs(fields, &request->question);
  request->streams = fields.boolean("stream").value_or(false);
  request->returns_progress = fields.boolean("return_progress").value_or(false);
  if (auto options = fields.nested("stream_options"))
    request->includes_usage = options->boolean("include_usage").value_or(false);
  request->question.format = openai_format(fields);
}

OpenAiRequest read_openai_chat(const Json& body, const ModelFacts& model) {
  Fields fields(body);
  OpenAiRequest request;
  Question& question = request.question;
  read_openai_answer(fields, model, &request);
  if (!read_schema_chat(fields, &question))
    question.chat = conversation_of(fields, model, &question.tool_choice);
  question.one_call = !fields.boolean("parallel_tool_calls").value_or(true);
  fields.only("modalities", {Json::array().push("text")}, "must be [\"text\"]");
  for (const char* const name : {"audio", "functions", "function_call", "web_search_options"})
    if (fields.any(name)) fields.refuse(name, "is nothing that this server has");
  tell_unread(fields, &question);
  return request;
}

}  // namespace pc::serve
