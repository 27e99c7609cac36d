#include "tools/bench/samples.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace pc::cli {

double mean(const Samples& samples) {
  if (samples.empty()) return 0;
  const double sum = std::accumulate(samples.begin(), samples.end(), 0.0);
  return sum / static_cast<double>(samples.size());
}

double deviation(const Samples& samples) {
  if (samples.size() < 2) return 0;
  const double middle = mean(samples);
  double squares = 0;
  for (const double x : samples) squares += (x - middle) * (x - middle);
  return std::sqrt(squares / static_cast<double>(samples.size() - 1));
}

double quantile(const Samples& samples, double share) {
  if (samples.empty()) return 0;
  Samples sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace pc::cli
