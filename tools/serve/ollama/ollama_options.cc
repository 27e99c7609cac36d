#include "tools/serve/ollama/ollama_options.h"

#include "tools/serve/request/sampling_fields.h"

namespace pc::serve {
namespace {

// What would draw other tokens, and is not done here; each with the values that ask for nothing.
void refuse_samplers(Fields& options) {
  const std::string why = "is nothing that this server draws by; leave it out";
  options.only("mirostat", {0}, why);
  options.only("typical_p", {1}, why);
  options.only("tfs_z", {1}, why);
  options.only("n", {1}, "must be 1: a request has one answer");
}

}  // namespace

void read_ollama_options(Fields& body, const ModelFacts& model, Question* question) {
  Sampling& s = question->sampling;
  s.temperature = 0.8F;
  s.top_p = 0.9F;
  auto given = body.nested("options");
  Fields options = given ? *given : Fields(Json::object());
  refuse_samplers(options);
  read_sampling(options, model, question);
  if (!options.any("top_k")) s.top_k = 40;
  if (!options.any("repeat_penalty")) s.repetition_penalty = 1.1F;
  // -1 and -2: as many as there is room for.
  if (const auto n = options.integer("num_predict", -2, UINT32_MAX); n && *n >= 0)
    s.max_tokens = static_cast<std::uint32_t>(*n);
}

}  // namespace pc::serve
