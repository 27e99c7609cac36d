#include "tools/serve/llama/llama_text.h"

#include <string>
#include <vector>

#include "tools/serve/raw/raw_fields.h"
#include "tools/serve/request/format_fields.h"
#include "tools/serve/request/sampling_fields.h"

namespace pc::serve {
namespace {

constexpr std::int64_t kMostProbs = 20, kMostChoices = 16;

// What would draw other tokens, and is not done here; each with the values that ask for nothing.
void refuse_samplers(Fields& fields) {
  const std::string why = "is nothing that this server draws by; leave it out";
  for (const char* const name :
       {"mirostat", "dry_multiplier", "xtc_probability", "dynatemp_range", "n_indent"})
    fields.only(name, {0}, why);
  fields.only("typical_p", {1}, why);
  fields.only("top_n_sigma", {-1, 0}, why);
  fields.only("ignore_eos", {false}, "is not done: an answer ends where the model ends it");
  fields.only("post_sampling_probs", {false},
              "is not done: n_probs are the model's own, before sampling");
  fields.only("t_max_predict_ms", {0, -1}, "is not done; the server has --deadline");
  fields.only("response_fields", {Json::array()}, "is not done: an answer has all its fields");
  fields.only("lora", {Json::array()}, "names adapters, of which this server has none");
}

LlamaRequest read_fields(Fields& fields, const ModelFacts& model) {
  LlamaRequest request;
  Question& question = request.question;
  question.sampling = llama_defaults();
  const std::uint32_t top_k = question.sampling.top_k;
  read_sampling(fields, model, &question, std::nullopt);
  if (!fields.any("top_k")) question.sampling.top_k = top_k;
  if (const auto n = fields.integer("n_cmpl", 1, kMostChoices))
    question.n = static_cast<std::uint32_t>(*n);
  if (const auto n = fields.integer("n_probs", 0, kMostProbs); n && *n > 0)
    question.top_logprobs = static_cast<std::uint32_t>(*n);
  question.tells_tokens = true;
  question.format = openai_format(fields);
  refuse_samplers(fields);
  request.streams = fields.boolean("stream").value_or(false);
  request.returns_progress = fields.boolean("return_progress").value_or(false);
  request.returns_tokens = fields.boolean("return_tokens").value_or(false);
  return request;
}

std::vector<FimFile> read_files(Fields& fields) {
  std::vector<FimFile> files;
  const auto list = fields.array("input_extra");
  if (!list) return files;
  for_each_item(*list, "input_extra", [&](const Json& item, const std::string& path) {
    Fields file = fields.inside(item, path);
    files.push_back({file.string("filename").value_or("tmp"), file.required_string("text")});
  });
  return files;
}

}  // namespace

Sampling llama_defaults() {
  Sampling sampling;
  sampling.temperature = 0.8F;
  sampling.top_k = 40;
  sampling.top_p = 0.95F;
  sampling.min_p = 0.05F;
  return sampling;
}

LlamaRequest read_llama_completion(const Json& body, const ModelFacts& model) {
  Fields fields(body);
  LlamaRequest request = read_fields(fields, model);
  request.question.raw = read_prompts(fields, model, Mixture::kLlama);
  request.is_list = request.question.n_choices() > 1;
  tell_unread(fields, &request.question);
  return request;
}

LlamaRequest read_llama_infill(const Json& body, const ModelFacts& model) {
  Fields fields(body);
  LlamaRequest request = read_fields(fields, model);
  const FimTokens tokens = fim_tokens(fields, model, "input_prefix");
  const std::string before = fields.required_string("input_prefix");
  const std::string after = fields.required_string("input_suffix");
  const std::vector<FimFile> files = read_files(fields);
  const std::string begun = fields.string("prompt").value_or("");
  request.question.raw = {fim_prompt(tokens, before, after, files, begun)};
  request.is_list = request.question.n > 1;
  tell_unread(fields, &request.question);
  return request;
}

}  // namespace pc::serve
