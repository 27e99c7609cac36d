#include "runtime/reports/model_probe.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "runtime/json/json_writer.h"
#include "runtime/sampling/sampler.h"  // log_sum_exp

namespace pc {

const std::string_view kProbeText =
    "Alice was beginning to get very tired of sitting by her sister on the bank, and of having "
    "nothing to do: once or twice she had peeped into the book her sister was reading, but it had "
    "no pictures or conversations in it, \"and what is the use of a book,\" thought Alice "
    "\"without pictures or conversations?\"\n\nSo she was considering in her own mind (as well as "
    "she could, for the hot day made her feel very sleepy and stupid), whether the pleasure of "
    "making a daisy-chain would be worth the trouble of getting up and picking the daisies, when "
    "suddenly a White Rabbit with pink eyes ran close by her.\n\nThere was nothing so very "
    "remarkable in that; nor did Alice think it so very much out of the way to hear the Rabbit say "
    "to itself, \"Oh dear! Oh dear! I shall be late!\"";

namespace {

constexpr std::size_t kMostTokens = 512;

// Whole prompts and single steps round activations alike, but sum in another order, and
// bf16 weights' many rows are rounded more: far below this where nothing is wrong.
constexpr double kMostApart = 0.1;

struct Probe {
  Tokens tokens;
  double nll = 0;                      // mean, of tokens[1:]
  double prefill_distance = 0;         // relative, L2, of the last logits
  std::vector<pc_layer_range> ranges;  // [n_layers + 1]
  std::vector<std::string> problems;
};

// -log softmax(logits)[token]
double negative_log_likelihood(std::span<const float> logits, TokenId token) {
  return log_sum_exp(logits) - logits[static_cast<std::size_t>(token)];
}

double relative_distance(std::span<const float> a, std::span<const float> b) {
  double square = 0, whole = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    square += std::pow(double{a[i]} - b[i], 2);
    whole += std::pow(double{b[i]}, 2);
  }
  return std::sqrt(square / whole);
}

Result<Tokens> tokens_of(const Engine& engine, std::string_view text) {
  PC_TRY(Tokens tokens, engine.tokenizer().encode(text));
  // As the tokenizer begins a text; what opens a chat is another thing.
  const Tokenizer& tokenizer = engine.tokenizer();
  if (tokenizer.add_bos() && tokenizer.bos()) tokens.insert(tokens.begin(), *tokenizer.bos());
  tokens.resize(std::min({tokens.size(), kMostTokens, std::size_t{engine.context_tokens()}}));
  if (tokens.size() < 2)
    return error(Code::kInvalidArgument, "a probe needs a text of two tokens or more");
  return tokens;
}

pc_run run_of(const Tokens& tokens, std::size_t first, std::size_t n) {
  const auto position = static_cast<std::int32_t>(first);
  return {&tokens[first], static_cast<std::uint32_t>(n), position, position, 1, nullptr, nullptr, 0,
          nullptr};
}

Status measure(const Engine& engine, BackendTimeline& timeline, const pc_run& run, Probe& probe,
               std::vector<float>& logits) {
  return engine.scheduler().compute({.timeline = &timeline,
                                     .runs = {&run, 1},
                                     .logits = logits.data(),
                                     .ranges = probe.ranges.data()});
}

// Token by token; leaves the last step's logits.
Status read_in_steps(const Engine& engine, Probe& probe, std::vector<float>& logits) {
  const auto n = static_cast<std::uint32_t>(probe.tokens.size());
  PC_TRY(BackendTimeline timeline, engine.backend().timeline());
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const pc_run run = run_of(probe.tokens, i, 1);
    PC_CHECK_OK(measure(engine, timeline, run, probe, logits));
    if (i + 1 < n) sum += negative_log_likelihood(logits, probe.tokens[i + 1]);
  }
  probe.nll = sum / (n - 1);
  return ok();
}

Status read_at_once(const Engine& engine, Probe& probe, std::vector<float>& logits) {
  const auto n = static_cast<std::uint32_t>(probe.tokens.size());
  PC_TRY(BackendTimeline timeline, engine.backend().timeline());
  return measure(engine, timeline, run_of(probe.tokens, 0, n), probe, logits);
}

std::string layer_name(std::size_t i) {
  return i == 0 ? "the embedding" : "layer " + std::to_string(i);
}

void find_problems(Probe& probe) {
  const auto broken =
      std::ranges::find_if(probe.ranges, [](const auto& r) { return r.n_not_finite != 0; });
  if (broken != probe.ranges.end()) {
    probe.problems.push_back("the model computes numbers that are not finite: they begin in " +
                             layer_name(static_cast<std::size_t>(broken - probe.ranges.begin())));
  } else if (!std::isfinite(probe.nll)) {
    probe.problems.push_back("the model computes logits that are not finite");
  } else if (!(probe.prefill_distance <= kMostApart)) {
    probe.problems.push_back("a whole prompt and its tokens one by one give different logits");
  }
}

std::string report(const Engine& engine, const Probe& probe) {
  std::string text;
  JsonWriter json(&text);
  json.begin_object().key("path").value(engine.model().path);
  json.key("ok").value(probe.problems.empty());
  json.key("tokens").value(probe.tokens.size());
  json.key("perplexity").value(std::exp(probe.nll));
  json.key("prefill_distance").value(probe.prefill_distance);
  json.key("layers").begin_array();
  for (std::size_t i = 0; i < probe.ranges.size(); ++i) {
    json.begin_object().key("name").value(i == 0 ? "embedding" : std::to_string(i));
    json.key("largest").value(double{probe.ranges[i].largest});
    json.key("not_finite").value(probe.ranges[i].n_not_finite).end_object();
  }
  json.end_array().key("problems").begin_array();
  for (const std::string& problem : probe.problems) json.value(problem);
  json.end_array().end_object();
  return text;
}

}  // namespace

Result<std::string> probe_model(const EngineOptions& options, std::string_view text) {
  PC_TRY(const auto engine, Engine::open(options));
  Probe probe;
  PC_TRY(probe.tokens, tokens_of(*engine, text));
  probe.ranges.resize(engine->model().desc.n_layers + std::size_t{1});
  std::vector<float> steps(engine->model().desc.vocab_size), whole(steps.size());
  PC_CHECK_OK(read_in_steps(*engine, probe, steps));
  PC_CHECK_OK(read_at_once(*engine, probe, whole));
  probe.prefill_distance = relative_distance(whole, steps);
  find_problems(probe);
  return report(*engine, probe);
}

}  // namespace pc
