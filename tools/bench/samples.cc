#include "tools/bench/samples.h"

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

}  // namespace pc::cli
