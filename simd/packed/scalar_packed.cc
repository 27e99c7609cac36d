// The reference for products from packed weights: integers in integers, the
// rest in double.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>

#include "simd/packed/packed.h"
#include "simd/packed_kernels.h"
#include "simd/quantised_rows.h"

namespace pc::simd {
namespace {

// Of columns [begin, end); infinity where one is not finite.
float magnitude_of(const float* x, std::size_t begin, std::size_t end) {
  float largest = 0.0f;
  for (std::size_t i = begin; i < end; ++i) {
    if (!std::isfinite(x[i])) return std::numeric_limits<float>::infinity();
    largest = std::fmax(largest, std::fabs(x[i]));
  }
  return largest;
}

struct QuantisedGroup {
  std::int8_t codes[kPackGroup] = {};
  RowNote note{};
};

// All codes with one scale, `steps` being the magnitude of 127; the sum of their squares.
int round_group(const float* x, float steps, int* codes) {
  int energy = 0;
  for (std::size_t i = 0; i < kPackGroup; ++i) {
    codes[i] = static_cast<int>(std::nearbyint(x[i] * (127.0f / steps)));
    energy += codes[i] * codes[i];
  }
  return energy;
}

// The quad of the largest magnitude, and the magnitude of 127 if its codes go to 254.
std::pair<std::size_t, float> finer_steps(const float* x, float largest) {
  std::size_t quad = 0;
  while (magnitude_of(x, 4 * quad, 4 * quad + 4) != largest) ++quad;
  const float before = magnitude_of(x, 0, 4 * quad), after = magnitude_of(x, 4 * quad + 4, 32);
  return {quad, std::fmax(largest / 2, std::fmax(before, after))};
}

bool quantise_group(const float* x, QuantisedGroup& group) {
  const float largest = magnitude_of(x, 0, kPackGroup);
  RowNote& note = group.note;
  if (!std::isfinite(largest)) note.scale = std::numeric_limits<float>::quiet_NaN();
  if (!std::isfinite(largest) || largest < kQuantisedFloor) return false;
  int codes[kPackGroup];
  float steps = largest;
  const bool finer = round_group(x, steps, codes) < kFineEnough;
  if (finer) {
    std::size_t quad;
    std::tie(quad, steps) = finer_steps(x, largest);
    round_group(x, steps, codes);
    note.quad = static_cast<std::uint16_t>(quad);
  }
  note.scale = steps / 127.0f;
  for (std::size_t i = 0; i < kPackGroup; ++i) {
    const int within = std::clamp(codes[i], -127, 127);
    group.codes[i] = static_cast<std::int8_t>(within);
    if (within != codes[i]) note.beyond[i % 4] = static_cast<std::int8_t>(codes[i] - within);
    (i < 16 ? note.first : note.second) -= codes[i];
  }
  note.sum = note.first + note.second;
  return finer;
}

}  // namespace

void quantise_scalar(const QuantiseArgs& a) {
  for (std::size_t i = a.row_begin; i < a.row_end; ++i) {
    const RowOffsets offsets = offsets_of_row(a.m, i, a.k);
    for (std::size_t g = a.group_begin; g < a.group_end; ++g) {
      QuantisedGroup group;
      const bool finer = quantise_group(a.x + i * a.k + g * kPackGroup, group);
      std::byte* note = a.dst + offsets.note + g * offsets.step;
      std::memcpy(a.dst + offsets.codes + g * offsets.step, group.codes, sizeof group.codes);
      std::memcpy(note, &group.note, sizeof group.note);
      if (finer) note_finer_row(note, offsets.row);
    }
  }
}

double quantised_element(const std::byte* x, std::size_t m, std::size_t k, std::size_t row,
                         std::size_t col) {
  const RowOffsets offsets = offsets_of_row(m, row, k);
  const std::size_t group = col / kPackGroup * offsets.step, in_group = col % kPackGroup;
  RowNote note;
  std::memcpy(&note, x + offsets.note + group, sizeof note);
  int code = static_cast<std::int8_t>(x[offsets.codes + group + in_group]);
  if (in_group / 4 == note.quad) code += note.beyond[in_group % 4];
  return static_cast<double>(note.scale) * code;
}

void matmul_packed_scalar(const PackedMatmulArgs& a) {
  for (std::size_t i = 0; i < a.m; ++i) {
    for (std::size_t j = a.panel_begin * kPanelRows; j < a.panel_end * kPanelRows && j < a.n; ++j) {
      double sum = 0.0;
      for (std::size_t c = 0; c < a.k; ++c)
        sum += quantised_element(a.x, a.m, a.k, i, c) * packed_element(a.type, a.w, a.k, j, c);
      float& y = a.y[i * a.y_stride + j];
      y = static_cast<float>(a.accumulate ? y + sum : sum);
    }
  }
}

}  // namespace pc::simd
