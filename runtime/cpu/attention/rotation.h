// Rotary position embedding as tables of cosines and sines
// (Su et al. 2021, arXiv 2104.09864), any scaling that is a fixed set of
// frequencies included.
//
// Angles are formed in double and rounded once: position * frequency in f32
// is wrong by 2e-4 rad at position 32K. Rotations compose, so the rotation of
// a query at position p for a segment placed at offset D (R(p - D), DESIGN
// D1) is one complex product of two table rows.
// Threads: const after fill(), any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"

namespace pc {

class RotationTable {
 public:
  // inv_freq: [half] radians a position, borrowed for the table's life.
  RotationTable(std::span<const double> inv_freq, std::uint32_t capacity);

  // Row i becomes the rotation by positions[i]; a row that is already so costs
  // nothing. Precondition: size <= capacity.
  void fill(std::span<const std::int32_t> positions);
  void set(std::uint32_t row, std::int32_t position);

  // Room for so many rows; keeps none.
  void resize(std::uint32_t capacity);

  const float* cos(std::uint32_t row) const { return cos_.data() + row * half(); }  // [half]
  const float* sin(std::uint32_t row) const { return sin_.data() + row * half(); }  // [half]
  std::uint32_t capacity() const { return static_cast<std::uint32_t>(held_.size()); }
  std::size_t half() const { return inv_freq_.size(); }

 private:
  std::span<const double> inv_freq_;
  std::vector<std::int64_t> held_;  // [capacity] the position of each row; none at first
  AlignedBuffer<float> cos_, sin_;  // [capacity, half]
};

// The rotation by a - b from the rotations by a and by b. [half] each.
void subtract_rotation(const float* cos_a, const float* sin_a, const float* cos_b,
                       const float* sin_b, std::size_t half, float* cos, float* sin);

}  // namespace pc
