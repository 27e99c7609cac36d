// How long a step takes, by its number of tokens: a straight line through the latest ones.
//
// Weights are read once a step, whatever it computes, and each token adds its products: a
// part that is always there, and one for each token. A value. Threads: compatible.
#pragma once

#include <cstdint>

namespace pc {

class StepTime {
 public:
  void add(std::uint32_t n_tokens, double seconds);

  // The most tokens that a step of at most this time has; UINT32_MAX before anything is known.
  std::uint32_t tokens_within(double seconds) const;

 private:
  // Sums over the steps, each worth less with every one behind it.
  double n_ = 0, tokens_ = 0, seconds_ = 0, tokens2_ = 0, both_ = 0;
};

}  // namespace pc
