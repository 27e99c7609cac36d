#include "tools/serve/request/sampling_fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

namespace pc::serve {
namespace {

constexpr std::int64_t kMostChoices = 16;
constexpr double kMostTemperature = 2, kMostPenalty = 2, kMostBias = 100, kMostRepetition = 10;

float number_or(Fields& fields, const char* name, double least, double most, float fallback) {
  return static_cast<float>(fields.number(name, least, most).value_or(fallback));
}

std::optional<std::int32_t> token_of(const std::string& digits) {
  std::int32_t token = 0;
  const char* const end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, token);
  return read.ec == std::errc() && read.ptr == end ? std::optional(token) : std::nullopt;
}

// llama.cpp's: [[50256, -1.5], [198, false]], false for a token that never comes.
void read_bias_list(Fields& fields, std::uint32_t vocab_size, std::vector<pc_token_bias>* bias) {
  const auto list = fields.array("logit_bias");
  for_each_item(*list, "logit_bias", [&](const Json& item, const std::string& path) {
    const std::vector<Json> pair = item.items();
    const auto token = pair.size() == 2 ? pair[0].integer() : std::nullopt;
    if (!token || *token < 0 || *token >= vocab_size)
      fields.refuse(path, "must be a token of this model and a number: [50256, -1.5]");
    const bool is_never = pair[1] == Json(false);
    const double value = is_never ? -std::numeric_limits<double>::infinity() : pair[1].real();
    const bool is_number = pair[1].is_number() && std::abs(value) <= kMostBias;
    if (!is_never && !is_number)
      fields.refuse(path, "must have a number from -100 to 100, or false");
    bias->push_back({static_cast<std::int32_t>(*token), static_cast<float>(value)});
  });
}

// {"50256": -100}
void read_bias(Fields& fields, std::uint32_t vocab_size, std::vector<pc_token_bias>* bias) {
  if (fields.any("logit_bias").value_or(Json()).is_array())
    return read_bias_list(fields, vocab_size, bias);
  const auto object = fields.object("logit_bias");
  if (!object) return;
  Fields biases = fields.inside(*object, "logit_bias");
  for (const std::string& key : object->keys()) {
    const auto token = token_of(key);
    if (!token || *token < 0 || static_cast<std::uint32_t>(*token) >= vocab_size)
      biases.refuse(
          key, "is no token: the vocabulary has tokens 0 to " + std::to_string(vocab_size - 1));
    bias->push_back({*token, number_or(biases, key.c_str(), -kMostBias, kMostBias, 0)});
  }
}

// The first of these names that the request has. -1, and -2 as llama.cpp's server has it beside
// that: as many as there is room for.
std::optional<std::uint32_t> read_max_tokens(Fields& fields,
                                             std::optional<std::uint32_t> otherwise) {
  std::optional<std::int64_t> most;
  for (const char* const name : {"max_completion_tokens", "max_tokens", "n_predict"})
    if (const auto n = fields.integer(name, -2, UINT32_MAX); n && !most) most = n;
  if (!most) return otherwise;
  return *most < 0 ? std::nullopt : std::optional(static_cast<std::uint32_t>(*most));
}

// -1: another one each time. The number that the library has for that is drawn with as any other.
void read_seed(Fields& fields, std::uint64_t* seed) {
  const bool is_any = fields.any("seed").value_or(Json()).integer() == -1;
  const auto asked = fields.seed("seed");
  if (!asked || is_any) return;
  *seed = *asked == PC_SEED_RANDOM ? PC_SEED_RANDOM / 2 : *asked;
}

// llama.cpp's name, or vLLM's.
float read_repetition_penalty(Fields& fields) {
  const auto ours = fields.number("repeat_penalty", 0, kMostRepetition);
  const auto theirs = fields.number("repetition_penalty", 0, kMostRepetition);
  return static_cast<float>(ours.value_or(theirs.value_or(1)));
}

// How long a thought may get, as llama.cpp's server has it; -1: as long as it likes.
void read_thought_budget(Fields& fields, std::optional<std::uint32_t>* budget) {
  for (const char* const name : {"thinking_budget_tokens", "reasoning_budget"})
    if (const auto n = fields.integer(name, -1, UINT32_MAX); n && *n >= 0 && !*budget)
      *budget = static_cast<std::uint32_t>(*n);
}

}  // namespace

void tell_unread(const Fields& fields, Question* question) {
  for (std::string& name : fields.unread()) question->ignored.push_back(std::move(name));
  question->remarks = fields.remarks();
}

std::uint32_t read_top_k(Fields& fields) {
  return static_cast<std::uint32_t>(
      std::max<std::int64_t>(0, fields.integer("top_k", -1, UINT32_MAX).value_or(0)));
}

std::vector<std::string> read_stops(Fields& fields, const char* name) {
  std::vector<std::string> stops = fields.strings(name, kMostStops);
  std::erase(stops, "");
  return stops;
}

void read_mode(Fields& fields, Question* question) {
  if (const auto wanted = fields.boolean("cache_prompt"); wanted && !*wanted) {
    question->mode = Mode::kOff;
    question->says_mode = true;
  }
  const auto cache = fields.any("prompt_cache");
  if (!cache) return;
  Fields of_cache = fields.inside(*cache, "prompt_cache");
  if (const auto name = of_cache.string("mode")) {
    const auto mode = mode_of(*name);
    if (!mode) of_cache.refuse("mode", "must be one of: " + mode_names());
    question->mode = *mode;
    question->says_mode = true;
  }
  question->repair = of_cache.string("repair").value_or("");
  question->moves = of_cache.boolean("moves").value_or(false);
  if (const auto overflow = of_cache.string("overflow")) {
    if (*overflow != "stop" && *overflow != "slide")
      of_cache.refuse("overflow", "must be one of: stop, slide");
    question->slides = *overflow == "slide";
  }
  if (const auto n = of_cache.integer("max_draft", 0, UINT32_MAX))
    question->sampling.max_draft = static_cast<std::uint32_t>(*n);
}

void read_sampling(Fields& fields, const ModelFacts& model, Question* question,
                   std::optional<std::uint32_t> max_tokens) {
  fields.string("model");  // who answers: Service
  Sampling& s = question->sampling;
  s.max_tokens = read_max_tokens(fields, max_tokens);
  s.temperature = number_or(fields, "temperature", 0, kMostTemperature, s.temperature);
  s.top_p = number_or(fields, "top_p", 0, 1, s.top_p);
  s.min_p = number_or(fields, "min_p", 0, 1, s.min_p);
  s.top_k = read_top_k(fields);
  s.presence_penalty = number_or(fields, "presence_penalty", -kMostPenalty, kMostPenalty, 0);
  s.frequency_penalty = number_or(fields, "frequency_penalty", -kMostPenalty, kMostPenalty, 0);
  s.repetition_penalty = read_repetition_penalty(fields);
  read_seed(fields, &s.seed);
  read_thought_budget(fields, &question->thought_budget);
  s.stop = read_stops(fields, "stop");
  read_bias(fields, model.engine.vocab_size, &s.bias);
  question->n = static_cast<std::uint32_t>(fields.integer("n", 1, kMostChoices).value_or(1));
  question->client = fields.string("user").value_or("");
  read_mode(fields, question);
}

}  // namespace pc::serve
