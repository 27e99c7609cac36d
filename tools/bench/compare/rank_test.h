// Are two lots of samples drawn from the same? By their ranks alone, so that no bell curve is
// assumed and one wild sample moves nothing: the test of Wilcoxon, Mann and Whitney, and the
// interval that belongs to it, of the ratio by which one lot is larger (Hodges and Lehmann). Exact
// for up to 40 samples in all, by the normal approximation beyond. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "tools/bench/samples.h"

namespace pc::cli {

// The chance that ranks come to lie at least as unevenly where both are drawn from the same. Equal
// samples share their ranks. Precondition: neither is empty.
double rank_test(const Samples& a, const Samples& b);

// The least that rank_test can say of so many samples: 2 / C(n_a + n_b, n_a), 1 of none.
double least_chance(std::size_t n_a, std::size_t n_b);

// How often b is a. Precondition: samples above 0, neither lot empty.
struct Ratio {
  struct Interval {
    double low = 0, high = 0;
  };
  double middle = 0;                 // the median of all b[j] / a[i]
  std::optional<Interval> interval;  // that has it with 95 %; none where samples are too few for it
};
Ratio ratio_of(const Samples& a, const Samples& b);

// Chances of several tests, corrected so that the chance of a single one below `level` by accident
// is at most `level` (Holm).
std::vector<double> corrected(const std::vector<double>& chances);

}  // namespace pc::cli
