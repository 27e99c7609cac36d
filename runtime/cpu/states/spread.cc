#include "runtime/cpu/states/spread.h"

#include <algorithm>
#include <cmath>

#include "modules/kv.h"  // kKvScaleDims

namespace pc {
namespace {

// n is a power of two.
void spread(float* x, std::size_t n) {
  for (std::size_t half = 1; half < n; half *= 2)
    for (std::size_t i = 0; i < n; i += 2 * half)
      for (std::size_t j = i; j < i + half; ++j) {
        const float a = x[j], b = x[j + half];
        x[j] = a + b;
        x[j + half] = a - b;
      }
  const float scale = 1.0f / std::sqrt(static_cast<float>(n));
  for (std::size_t i = 0; i < n; ++i) x[i] *= scale;
}

void spread_group(float* x, std::size_t n) {
  const std::size_t power = n & (~n + 1);
  for (std::size_t i = 0; i < n; i += power) spread(x + i, power);
}

}  // namespace

void spread_key(float* x, std::size_t head_dim) {
  for (std::size_t d = 0; d < head_dim; d += kKvScaleDims)
    spread_group(x + d, std::min<std::size_t>(kKvScaleDims, head_dim - d));
}

void spread_value(float* x, std::size_t head_dim) {
  spread_group(x, head_dim);
}

}  // namespace pc
