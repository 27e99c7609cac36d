#include "runtime/cpu/states/kv_q4.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "modules/kv.h"
#include "simd/kernels.h"  // bf16_from_f32

namespace pc {
namespace {

constexpr float kMostCode = 15.0f;
constexpr std::size_t kCodesAWord = 8, kCodeBits = 4;

// A code c of its group stands for c * step + least.
struct Line {
  std::uint16_t step, least;  // bf16

  float number(std::uint32_t code) const {
    return static_cast<float>(code) * simd::f32_from_bf16(step) + simd::f32_from_bf16(least);
  }
  std::uint32_t code(float x) const {
    const float width = simd::f32_from_bf16(step);
    if (!(width > 0.0f)) return 0;
    const float level = std::nearbyint((x - simd::f32_from_bf16(least)) / width);
    return static_cast<std::uint32_t>(std::clamp(level, 0.0f, kMostCode));
  }
};

// Of the n numbers at x, `stride` apart.
Line line_of(const float* x, std::size_t n, std::size_t stride) {
  float least = x[0], most = x[0], broken = 0.0f;
  for (std::size_t i = 0; i < n; ++i) {
    least = std::min(least, x[i * stride]);
    most = std::max(most, x[i * stride]);
    broken += x[i * stride] * 0.0f;  // NaN for NaN and for infinity
  }
  const std::uint16_t from = simd::bf16_from_f32(least);
  const float step =
      simd::f32_from_bf16(simd::bf16_from_f32((most - simd::f32_from_bf16(from)) / kMostCode));
  if (broken == 0.0f && step <= std::numeric_limits<float>::max())
    return {simd::bf16_from_f32(std::max(step, 0.0f)), from};
  return {simd::bf16_from_f32(std::numeric_limits<float>::quiet_NaN()), 0};
}

// A block: lines, then words of codes.
std::size_t head_bytes(std::uint32_t hd) {
  return KvHead{KvType::kQ4, hd}.scale_bytes();
}
std::uint32_t* words_of(std::byte* block, std::uint32_t hd) {
  return reinterpret_cast<std::uint32_t*>(block + head_bytes(hd));
}
const std::uint32_t* words_of(const std::byte* block, std::uint32_t hd) {
  return reinterpret_cast<const std::uint32_t*>(block + head_bytes(hd));
}

// Where a token's code of a dimension lies.
struct CodePlace {
  std::size_t word, shift;
};
CodePlace key_place(std::uint32_t t, std::size_t d) {
  return {d / kCodesAWord * kKvBlockTokens + t, d % kCodesAWord * kCodeBits};
}
CodePlace value_place(std::uint32_t hd, std::uint32_t t, std::size_t d) {
  return {t / kCodesAWord * hd + d, t % kCodesAWord * kCodeBits};
}
std::uint32_t code_at(const std::uint32_t* words, CodePlace at) {
  return words[at.word] >> at.shift & 15u;
}

// Of token t's numbers from group * kQ4ValueDims on.
std::size_t value_line(std::uint32_t t, std::size_t group) {
  return group * kKvBlockTokens + t;
}

}  // namespace

void write_q4_block(std::uint32_t hd, std::uint32_t n_rows, const float* keys, const float* values,
                    std::byte* key_block, std::byte* value_block) {
  const std::size_t n_bytes = KvHead{KvType::kQ4, hd}.block_bytes();
  std::memset(key_block, 0, n_bytes);
  std::memset(value_block, 0, n_bytes);
  auto* const key_lines = reinterpret_cast<Line*>(key_block);
  auto* const value_lines = reinterpret_cast<Line*>(value_block);
  for (std::size_t d = 0; d < hd; ++d) {
    const Line line = key_lines[d] = line_of(keys + d, n_rows, hd);
    for (std::uint32_t t = 0; t < n_rows; ++t) {
      const CodePlace at = key_place(t, d);
      words_of(key_block, hd)[at.word] |= line.code(keys[std::size_t{t} * hd + d]) << at.shift;
    }
  }
  for (std::uint32_t t = 0; t < n_rows; ++t) {
    const float* const value = values + std::size_t{t} * hd;
    for (std::size_t d = 0; d < hd; ++d) {
      Line& line = value_lines[value_line(t, d / kQ4ValueDims)];
      if (d % kQ4ValueDims == 0) line = line_of(value + d, kQ4ValueDims, 1);
      const CodePlace at = value_place(hd, t, d);
      words_of(value_block, hd)[at.word] |= line.code(value[d]) << at.shift;
    }
  }
}

void read_q4_key(std::uint32_t hd, std::uint32_t t, const std::byte* block, float* key) {
  const auto* const lines = reinterpret_cast<const Line*>(block);
  for (std::size_t d = 0; d < hd; ++d)
    key[d] = lines[d].number(code_at(words_of(block, hd), key_place(t, d)));
}

void read_q4_value(std::uint32_t hd, std::uint32_t t, const std::byte* block, float* value) {
  const auto* const lines = reinterpret_cast<const Line*>(block);
  for (std::size_t d = 0; d < hd; ++d)
    value[d] = lines[value_line(t, d / kQ4ValueDims)].number(
        code_at(words_of(block, hd), value_place(hd, t, d)));
}

}  // namespace pc
