#include "tools/serve/openai/openai_text.h"

#include <utility>
#include <vector>

#include "tools/serve/request/format_fields.h"
#include "tools/serve/request/sampling_fields.h"

namespace pc::serve {
namespace {

constexpr std::int64_t kMostLogprobs = 20;
constexpr std::uint32_t kDefaultMaxTokens = 16;  // OpenAI's

// One text, or tokens, in a list or alone.
void read_prompt(Fields& fields, const ModelFacts& model, Question* question) {
  const auto prompt = fields.any("prompt");
  if (!prompt) fields.refuse("prompt", "is missing: a string");
  Json one = *prompt;
  if (one.is_array() && one.items().size() == 1 && !one.items()[0].is_number())
    one = one.items()[0];
  question->text = one.string();
  if (one.is_string()) return;
  for (const Json& item : one.items()) {
    const auto token = item.integer();
    if (!token || *token < 0 || *token >= model.engine.vocab_size)
      fields.refuse("prompt", "must be one string, or one list of this model's tokens");
    question->tokens.push_back(static_cast<std::int32_t>(*token));
  }
  if (question->tokens.empty())
    fields.refuse("prompt", "must be one string, or one list of tokens");
}

}  // namespace

OpenAiRequest read_openai_text(const Json& body, const ModelFacts& model) {
  Fields fields(body);
  OpenAiRequest request;
  Question& question = request.question;
  read_sampling(fields, model, &question, kDefaultMaxTokens);
  read_prompt(fields, model, &question);
  question.echoes = fields.boolean("echo").value_or(false);
  if (const auto top = fields.integer("logprobs", 0, kMostLogprobs))
    question.top_logprobs = static_cast<std::uint32_t>(*top);
  fields.only("suffix", {""}, "is nothing that this model writes towards");
  fields.only("best_of", {Json(question.n)}, "must be n, or left out");
  request.streams = fields.boolean("stream").value_or(false);
  request.returns_progress = fields.boolean("return_progress").value_or(false);
  if (auto options = fields.nested("stream_options"))
    request.includes_usage = options->boolean("include_usage").value_or(false);
  question.format = openai_format(fields);
  tell_unread(fields, &question);
  return request;
}

Question question_of(const Json& body, const ModelFacts& model) {
  const bool is_chat = body["prompt"].is_null();
  return (is_chat ? read_openai_chat(body, model) : read_openai_text(body, model)).question;
}

}  // namespace pc::serve
