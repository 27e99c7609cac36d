// From logits to the next token.
//
// In this order: repetition penalty (Keskar et al. 2019, arXiv 1909.05858,
// over the prompt's and the answer's tokens), frequency and presence penalty (OpenAI's: so much
// less for each time that the answer has the token, and for the first), bias of tokens, mask,
// temperature, top-k, top-p
// (Holtzman et al. 2020, arXiv 1904.09751), min-p (Nguyen et al. 2024,
// arXiv 2407.01082), then one draw. Temperature 0 takes the largest logit,
// the lower id at a tie. A logit that is NaN counts as -infinity, whose tokens
// are never drawn while there is another. The same seed and logits give the same
// tokens, up to the rounding of exp.
//
// Owns its scratch: sample() allocates nothing and takes time in proportion to the
// vocabulary: nothing is sorted. Greedily, and where top-k or min-p say how near to the
// likeliest a token must be, that is one pass of comparisons over the logits and little
// more; else each token of the vocabulary is a candidate. Threads: one at a time.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "base/status.h"

namespace pc {

struct TokenBias {
  std::int32_t token;
  float bias;  // added to the token's logit; -infinity: never drawn
};

struct SamplerOptions {
  float temperature = 0.0f;         // >= 0
  std::uint32_t top_k = 0;          // 0 = all
  float top_p = 1.0f;               // [0, 1]; 0 = the likeliest alone
  float min_p = 0.0f;               // [0, 1]; 1 = those as likely as the likeliest
  float repetition_penalty = 1.0f;  // > 0; above 1 discourages
  std::uint64_t seed = 0;
  float presence_penalty = 0.0f, frequency_penalty = 0.0f;
  std::vector<TokenBias> bias = {};
};

// kInvalidArgument names the option and its range.
Status check_sampler_options(const SamplerOptions& options, std::uint32_t vocab_size);

// A token and the natural logarithm of its probability.
struct TokenLogprob {
  std::int32_t token;
  float logprob;
};

// ln(sum(exp(x))), what logits lack to logarithms of probabilities. Precondition: not empty.
double log_sum_exp(std::span<const float> logits);
// Of a token, by the softmax of the logits as they are. Precondition: 0 <= token < logits.size().
float logprob_of(std::span<const float> logits, std::int32_t token);
// The n likeliest tokens by the same, the likeliest first, of equals the lower id.
std::vector<TokenLogprob> top_logprobs(std::span<const float> logits, std::size_t n);
// The top.size() likeliest, given log_sum_exp(logits), without allocating. ids: scratch,
// [logits.size()]. Precondition: top.size() <= logits.size().
void find_top_logprobs(std::span<const float> logits, double sum, std::span<std::int32_t> ids,
                       std::span<TokenLogprob> top);

class Sampler {
 public:
  Sampler(const SamplerOptions& options, std::uint32_t vocab_size);

  // A token that the repetition penalty counts as said, and one that it counts so no more.
  void observe(std::int32_t token);
  void forget(std::int32_t token);
  // The other penalties are about the tokens of this answer: none yet, or these.
  void begin_answer(std::span<const std::int32_t> tokens);

  // logits: [vocab_size], not changed. allowed: empty, or a bit a token in words of 32; a token
  // whose bit is 0 is not drawn. The chosen token is observed, and the answer's. -1 where no
  // token may be drawn.
  std::int32_t sample(std::span<const float> logits, std::span<const std::uint32_t> allowed = {});

 private:
  // Of lower rank is likelier, of equal rank the lower id comes first.
  struct Candidate {
    std::uint32_t rank;  // bits of (largest logit - logit) / temperature: in its order
    float weight;        // probability, unnormalised; of the likeliest 1
    std::int32_t token;
  };
  bool changes_scores() const;
  std::span<const float> scored(std::span<const float> logits,
                                std::span<const std::uint32_t> allowed);
  void find_peaks(std::span<const float> scores);
  std::int32_t likeliest(std::span<const float> scores, float top) const;
  float below(float score, float top) const;
  float reach(float top);
  void rank(std::span<const float> scores, float top);
  void keep_top_k();
  void weigh();
  void keep_top_p();
  void keep_min_p();
  std::int32_t draw();

  template <class Measure, class Enough>
  Candidate walk(Measure measure, Enough enough) const;
  void drop_behind(const Candidate& last);
  double total_weight() const;

  SamplerOptions options_;
  std::mt19937_64 random_;
  std::vector<std::uint32_t> said_;  // [vocab_size] how often; empty without penalty
  std::vector<std::uint32_t>
      drawn_;  // [vocab_size] how often the answer has it; empty without penalty
  // [vocab_size] logits as penalties, bias and mask leave them; capacity vocab_size, else empty
  std::vector<float> scores_;
  std::vector<Candidate> candidates_;  // in the order of ids; capacity vocab_size
  // The scores in rows of min(kColumns, vocab_size):
  std::vector<float> peaks_;         // [columns] the largest of each; NaN counts as -infinity
  std::vector<float> distances_;     // [columns] scratch
  std::vector<std::uint32_t> near_;  // columns that hold candidates, in order
};

}  // namespace pc
