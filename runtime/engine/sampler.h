// From logits to the next token.
//
// In this order: repetition penalty (Keskar et al. 2019, arXiv 1909.05858,
// over the prompt's and the answer's tokens), temperature, top-k, top-p
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

struct SamplerOptions {
  float temperature = 0.0f;         // >= 0
  std::uint32_t top_k = 0;          // 0 = all
  float top_p = 1.0f;               // (0, 1]
  float min_p = 0.0f;               // [0, 1)
  float repetition_penalty = 1.0f;  // > 0; above 1 discourages
  std::uint64_t seed = 0;
};

// kInvalidArgument names the option and its range.
Status check_sampler_options(const SamplerOptions& options);

class Sampler {
 public:
  Sampler(const SamplerOptions& options, std::uint32_t vocab_size);

  // A token that the penalty counts as said, and one that it counts so no more.
  void observe(std::int32_t token);
  void forget(std::int32_t token);

  // logits: [vocab_size], not changed. The chosen token is observed.
  std::int32_t sample(std::span<const float> logits);

 private:
  // Of lower rank is likelier, of equal rank the lower id comes first.
  struct Candidate {
    std::uint32_t rank;  // bits of (largest logit - logit) / temperature: in its order
    float weight;        // probability, unnormalised; of the likeliest 1
    std::int32_t token;
  };
  std::span<const float> penalised(std::span<const float> logits);
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
  std::vector<std::uint32_t> said_;    // [vocab_size] how often
  std::vector<float> scores_;          // [vocab_size] penalised logits; empty without penalty
  std::vector<Candidate> candidates_;  // in the order of ids; capacity vocab_size
  // The scores in rows of min(kColumns, vocab_size):
  std::vector<float> peaks_;         // [columns] the largest of each; NaN counts as -infinity
  std::vector<float> distances_;     // [columns] scratch
  std::vector<std::uint32_t> near_;  // columns that hold candidates, in order
};

}  // namespace pc
