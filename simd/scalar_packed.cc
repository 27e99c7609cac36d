// The reference for products from packed weights: integers in integers, the
// rest in double.

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

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

void sum_codes(const std::int8_t* codes, RowNote& note) {
  for (std::size_t i = 0; i < kPackGroup; ++i) (i < 16 ? note.first : note.second) -= codes[i];
  note.sum = note.first + note.second;
}

struct Part {
  std::int8_t codes[kPackGroup] = {};
  RowNote note{};
};

// The first part of a group and, where it is announced, the second.
void quantise_group(const float* x, Part& first, Part& second) {
  const float largest = magnitude_of(x);
  if (!std::isfinite(largest)) first.note.scale = std::numeric_limits<float>::quiet_NaN();
  if (!std::isfinite(largest) || largest < kQuantisedFloor) return;
  first.note.scale = largest / 127.0f;
  second.note.scale = first.note.scale / kFiner;
  const float inverse = 127.0f / largest;
  float energy = 0.0f;  // exact: integers below 2^24
  for (std::size_t i = 0; i < kPackGroup; ++i) {
    const float scaled = x[i] * inverse, rounded = std::nearbyint(scaled);
    first.codes[i] = static_cast<std::int8_t>(rounded);
    second.codes[i] = static_cast<std::int8_t>(std::nearbyint((scaled - rounded) * kFiner));
    energy += rounded * rounded;
  }
  first.note.finer = energy < kFineEnough;
  sum_codes(first.codes, first.note);
  sum_codes(second.codes, second.note);
}

void put_part(const Part& part, std::byte* codes, std::byte* note) {
  std::memcpy(codes, part.codes, sizeof part.codes);
  std::memcpy(note, &part.note, sizeof part.note);
}

}  // namespace

void quantise_scalar(const QuantiseArgs& a) {
  const std::size_t second_parts = first_parts_bytes(a.m, a.k);
  for (std::size_t i = a.row_begin; i < a.row_end; ++i) {
    const RowPlace place = place_of_row(a.m, i, a.k);
    for (std::size_t g = a.group_begin; g < a.group_end; ++g) {
      std::byte* codes = a.dst + place.codes + g * place.step;
      std::byte* note = a.dst + place.notes + g * place.step;
      Part first, second;
      quantise_group(a.x + i * a.k + g * kPackGroup, first, second);
      put_part(first, codes, note);
      if (first.note.finer) put_part(second, codes + second_parts, note + second_parts);
    }
  }
}

float quantised_element(const std::byte* x, std::size_t m, std::size_t k, std::size_t row,
                        std::size_t col) {
  const RowPlace place = place_of_row(m, row, k);
  const std::size_t group = col / kPackGroup * place.step;
  const auto part = [&](std::size_t at) {
    RowNote note;
    std::memcpy(&note, x + at + place.notes + group, sizeof note);
    const auto code = static_cast<std::int8_t>(x[at + place.codes + group + col % kPackGroup]);
    return std::pair(note.scale * static_cast<float>(code), note.finer);
  };
  const auto [first, finer] = part(0);
  return finer ? first + part(first_parts_bytes(m, k)).first : first;
}

void matmul_packed_scalar(const PackedMatmulArgs& a) {
  for (std::size_t i = 0; i < a.m; ++i) {
    for (std::size_t j = a.panel_begin * kPanelRows; j < a.panel_end * kPanelRows && j < a.n; ++j) {
      double sum = 0.0;
      for (std::size_t c = 0; c < a.k; ++c)
        sum += static_cast<double>(quantised_element(a.x, a.m, a.k, i, c)) *
               packed_element(a.type, a.w, a.k, j, c);
      float& y = a.y[i * a.y_stride + j];
      y = static_cast<float>(a.accumulate ? y + sum : sum);
    }
  }
}

}  // namespace pc::simd
