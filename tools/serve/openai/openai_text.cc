#include "tools/serve/openai/openai_text.h"

#include <string>
#include <vector>

#include "tools/serve/raw/raw_fields.h"
#include "tools/serve/request/format_fields.h"
#include "tools/serve/request/sampling_fields.h"

namespace pc::serve {
namespace {

constexpr std::int64_t kMostLogprobs = 20;
constexpr std::uint32_t kDefaultMaxTokens = 16;  // OpenAI's

// With a suffix, what belongs between the prompt and it.
void read_prompt(Fields& fields, const ModelFacts& model, Question* question) {
  question->raw = read_prompts(fields, model, Mixture::kNone);
  const std::string suffix = fields.string("suffix").value_or("");
  if (suffix.empty()) return;
  const FimTokens tokens = fim_tokens(fields, model, "suffix");
  if (question->echoes) fields.refuse("echo", "cannot be together with \"suffix\"");
  for (RawPrompt& prompt : question->raw) {
    if (!prompt.pieces.front().tokens.empty())
      fields.refuse("suffix", "wants a prompt that is text, not tokens");
    prompt = fim_prompt(tokens, prompt.pieces.front().text, suffix);
  }
}

}  // namespace

OpenAiRequest read_openai_text(const Json& body, const ModelFacts& model) {
  Fields fields(body);
  OpenAiRequest request;
  Question& question = request.question;
  read_sampling(fields, model, &question, kDefaultMaxTokens);
  question.echoes = fields.boolean("echo").value_or(false);
  read_prompt(fields, model, &question);
  if (const auto top = fields.integer("logprobs", 0, kMostLogprobs))
    question.top_logprobs = static_cast<std::uint32_t>(*top);
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
