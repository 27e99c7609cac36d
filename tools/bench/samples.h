// Repeated measures of one thing: their middle, and how far they scatter. Pure; any thread.
#pragma once

#include <vector>

namespace pc::cli {

using Samples = std::vector<double>;

double mean(const Samples& samples);  // 0 of none
// The standard deviation of what the samples are drawn from (n - 1); 0 of fewer than two.
double deviation(const Samples& samples);
// Below which this share of the samples lies, between neighbours in proportion to the share (of
// 1, 2, 3 and 4 the share 0.5 has 2.5); 0 of none. Precondition: 0 <= share <= 1.
double quantile(const Samples& samples, double share);

}  // namespace pc::cli
