// What computing tokens costs: two numbers, from how fast a prefill is at two lengths.
//
// Values. Threads: any.
#pragma once

#include "bench/traces/trace.h"

namespace pc::bench {

// A prefill of so many tokens was measured at so many a second.
struct PrefillRate {
  double n_tokens = 0, per_second = 0;
};

struct Costs {
  double token_s = 0;  // of a token that sees nothing
  double depth_s = 0;  // more for each token that it sees

  // n tokens see n / 2 others each, in the mean. Precondition: two different lengths.
  static Costs of(const PrefillRate& one, const PrefillRate& other) {
    const double a = 1 / one.per_second, b = 1 / other.per_second;
    const double depth_s = 2 * (b - a) / (other.n_tokens - one.n_tokens);
    return {a - depth_s * one.n_tokens / 2, depth_s};
  }

  // Of n tokens, the first of which stands at `position`.
  double seconds(double n_tokens, double position) const {
    return n_tokens * (token_s + depth_s * (position + n_tokens / 2));
  }
  double seconds(const TraceLink& link) const { return seconds(link.n_tokens, link.position); }
};

}  // namespace pc::bench
