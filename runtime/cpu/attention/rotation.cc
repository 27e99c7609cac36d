#include "runtime/cpu/attention/rotation.h"

#include <cmath>
#include <limits>

#include "base/status.h"  // PC_EXPECT

namespace pc {

RotationTable::RotationTable(std::span<const double> inv_freq, std::uint32_t capacity)
    : inv_freq_(inv_freq) {
  resize(capacity);
}

void RotationTable::resize(std::uint32_t capacity) {
  held_.assign(capacity, std::numeric_limits<std::int64_t>::max());
  cos_ = AlignedBuffer<float>(capacity * half());
  sin_ = AlignedBuffer<float>(capacity * half());
}

void RotationTable::set(std::uint32_t row, std::int32_t position) {
  PC_EXPECT(row < held_.size());
  if (held_[row] == position) return;
  held_[row] = position;
  float* c = cos_.data() + row * half();
  float* s = sin_.data() + row * half();
  for (std::size_t i = 0; i < half(); ++i) {
    const double angle = position * inv_freq_[i];
    c[i] = static_cast<float>(std::cos(angle));
    s[i] = static_cast<float>(std::sin(angle));
  }
}

void RotationTable::fill(std::span<const std::int32_t> positions) {
  for (std::uint32_t i = 0; i < positions.size(); ++i) set(i, positions[i]);
}

void subtract_rotation(const float* cos_a, const float* sin_a, const float* cos_b,
                       const float* sin_b, std::size_t half, float* cos, float* sin) {
  for (std::size_t i = 0; i < half; ++i) {
    cos[i] = cos_a[i] * cos_b[i] + sin_a[i] * sin_b[i];
    sin[i] = sin_a[i] * cos_b[i] - cos_a[i] * sin_b[i];
  }
}

}  // namespace pc
