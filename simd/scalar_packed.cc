// The reference for products from packed weights: integers in integers, the
// rest in double.

#include <cmath>
#include <cstring>
#include <limits>

#include "simd/packed.h"
#include "simd/packed_kernels.h"
#include "simd/quantised_rows.h"

namespace pc::simd {
namespace {

float magnitude_of(const float* x) {
  float largest = 0.0f;
  for (std::size_t i = 0; i < kPackGroup; ++i) {
    if (!std::isfinite(x[i])) return std::numeric_limits<float>::infinity();
    largest = std::fmax(largest, std::fabs(x[i]));
  }
  return largest;
}

RowNote quantise_group(const float* x, std::int8_t* codes) {
  const float largest = magnitude_of(x);
  RowNote note{};
  std::memset(codes, 0, kPackGroup);
  if (!std::isfinite(largest)) note.scale = std::numeric_limits<float>::quiet_NaN();
  if (!std::isfinite(largest) || largest < kQuantisedFloor) return note;
  note.scale = largest / 127.0f;
  const float inverse = 127.0f / largest;
  for (std::size_t i = 0; i < kPackGroup; ++i) {
    codes[i] = static_cast<std::int8_t>(std::nearbyint(x[i] * inverse));
    (i < 16 ? note.first : note.second) -= codes[i];
  }
  note.sum = note.first + note.second;
  return note;
}

}  // namespace

void quantise_row_scalar(const QuantiseArgs& a) {
  const RowPlace place = place_of_row(a.m, a.row, a.k);
  for (std::size_t g = 0; g < a.k / kPackGroup; ++g) {
    auto* codes = reinterpret_cast<std::int8_t*>(a.dst + place.codes + g * place.step);
    const RowNote note = quantise_group(a.x + g * kPackGroup, codes);
    std::memcpy(a.dst + place.notes + g * place.step, &note, sizeof note);
  }
}

void matmul_packed_scalar(const PackedMatmulArgs& a) {
  for (std::size_t i = 0; i < a.m; ++i) {
    const RowPlace place = place_of_row(a.m, i, a.k);
    for (std::size_t j = a.panel_begin * kPanelRows; j < a.panel_end * kPanelRows && j < a.n; ++j) {
      double sum = 0.0;
      for (std::size_t c = 0; c < a.k; ++c) {
        const std::size_t group = c / kPackGroup * place.step;
        RowNote note;
        std::memcpy(&note, a.x + place.notes + group, sizeof note);
        const auto code = static_cast<std::int8_t>(a.x[place.codes + group + c % kPackGroup]);
        sum += static_cast<double>(note.scale) * code * packed_element(a.type, a.w, a.k, j, c);
      }
      float& y = a.y[i * a.y_stride + j];
      y = static_cast<float>(a.accumulate ? y + sum : sum);
    }
  }
}

}  // namespace pc::simd
