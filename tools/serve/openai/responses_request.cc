#include "tools/serve/openai/responses_request.h"

#include <cstdint>

#include "tools/serve/openai/responses_input.h"
#include "tools/serve/request/answer_fields.h"
#include "tools/serve/request/format_fields.h"
#include "tools/serve/request/provider_text.h"
#include "tools/serve/request/sampling_fields.h"

namespace pc::serve {
namespace {

constexpr double kMostTemperature = 2;
constexpr std::int64_t kMostTopLogprobs = 20;

Json or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

void read_drawing(Fields& fields, Sampling* s) {
  if (const auto most = fields.integer("max_output_tokens", 1, UINT32_MAX))
    s->max_tokens = static_cast<std::uint32_t>(*most);
  s->temperature =
      static_cast<float>(fields.number("temperature", 0, kMostTemperature).value_or(1));
  s->top_p = static_cast<float>(fields.number("top_p", 0, 1).value_or(1));
}

// "include" may ask for logprobs; what else it names is of tools that are not here.
void read_logprobs(Fields& fields, Question* question) {
  constexpr const char* kLogprobs = "message.output_text.logprobs";
  bool wants = false;
  for (const std::string& wanted : fields.strings("include", 32)) {
    wants |= wanted == kLogprobs;
    if (wanted != kLogprobs) question->ignored.push_back("include." + wanted);
  }
  const auto top = fields.integer("top_logprobs", 0, kMostTopLogprobs);
  if (top && *top > 0 && !wants)
    fields.refuse("top_logprobs", std::string("needs \"include\": [\"") + kLogprobs + "\"]");
  if (wants) question->top_logprobs = static_cast<std::uint32_t>(top.value_or(0));
}

// What cannot be done otherwise than here.
void check_rest(Fields& fields, Question* question) {
  fields.only("background", {false}, "must be false: an answer is made while its client waits");
  if (const auto truncation = fields.string("truncation")) {
    if (*truncation != "auto" && *truncation != "disabled")
      fields.refuse("truncation", "must be one of: auto, disabled");
    question->slides = *truncation == "auto";
  }
  for (const char* const name : {"conversation", "prompt"})
    if (fields.any(name)) fields.refuse(name, "is nothing that this server has");
  question->one_call = !fields.boolean("parallel_tool_calls").value_or(true);
}

Json echo_of(Fields& fields, const ResponsesRequest& request) {
  const Sampling& s = request.question.sampling;
  return Json::object()
      .set("instructions", request.instructions)
      .set("max_output_tokens", s.max_tokens ? Json(*s.max_tokens) : Json())
      .set("metadata", fields.object("metadata").value_or(Json::object()))
      .set("parallel_tool_calls", !request.question.one_call)
      .set("previous_response_id", or_null(request.previous))
      .set("store", request.stores)
      .set("temperature", fields.any("temperature").value_or(1))
      .set("text", fields.any("text").value_or(
                       Json::object().set("format", Json::object().set("type", "text"))))
      .set("tool_choice", fields.any("tool_choice").value_or("auto"))
      .set("tools", fields.any("tools").value_or(Json::array()))
      .set("top_p", fields.any("top_p").value_or(1))
      .set("truncation", request.question.slides.value_or(false) ? "auto" : "disabled");
}

}  // namespace

ResponsesRequest read_responses(const Json& body, const ModelFacts& model) {
  Fields fields(body);
  ResponsesRequest request;
  Question& question = request.question;
  fields.string("model");
  read_drawing(fields, &question.sampling);
  request.conversation = responses_messages(fields);
  request.tools = responses_tools(fields, model, &question.tool_choice);
  if (const auto instructions = fields.string("instructions"))
    request.instructions = for_model(*instructions, "instructions", &fields);
  read_logprobs(fields, &question);
  request.variables = responses_variables(fields);
  question.format = responses_format(fields);
  check_rest(fields, &question);
  read_mode(fields, &question);
  question.client = fields.string("user").value_or("");
  request.streams = fields.boolean("stream").value_or(false);
  request.stores = fields.boolean("store").value_or(true);
  request.previous = fields.string("previous_response_id").value_or("");
  request.echo = echo_of(fields, request);
  tell_unread(fields, &question);
  return request;
}

void go_on(const Json& earlier, ResponsesRequest* request) {
  Json conversation = Json::array(), messages = Json::array();
  if (!request->instructions.is_null())
    messages.push(Json::object().set("role", "system").set("content", request->instructions));
  for (const Json& list : {earlier, request->conversation})
    for (const Json& message : list.items()) {
      conversation.push(message);
      messages.push(message);
    }
  request->conversation = conversation;
  request->question.chat = Json::object().set("messages", messages);
  if (!request->tools.is_null()) request->question.chat.set("tools", request->tools);
  if (!request->variables.is_null()) request->question.chat.set("variables", request->variables);
}

}  // namespace pc::serve
