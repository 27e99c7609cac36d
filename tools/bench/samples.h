// Repeated measures of one thing: their mean, and how far they scatter. Pure; any thread.
#pragma once

#include <vector>

namespace pc::cli {

using Samples = std::vector<double>;

double mean(const Samples& samples);  // 0 of none
// The standard deviation of what the samples are drawn from (n - 1); 0 of fewer than two.
double deviation(const Samples& samples);

}  // namespace pc::cli
