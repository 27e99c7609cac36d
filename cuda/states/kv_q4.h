// States in 4 bits as module files pack them (modules/kv.h): the device has bf16 rows of them
// (cuda/states/kv_rows.h), and these are the conversions, a block of a plane at a time.
//
// Lines are pairs of bf16, a step and a least number: a key has one for each dimension of a block,
// a value for each kLineDims of a token. Behind a block's lines come words of eight codes. The
// rules of runtime/cpu/states/kv_q4.h, by numbers alone. Device code, by all threads of a block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "cuda/device/numbers.h"
#include "cuda/states/kv_rows.h"

namespace pc::cuda {

// Dimensions of a value that share a line (modules/kv.h: kQ4ValueDims), and codes of a word.
inline constexpr std::uint32_t kLineDims = 16, kWordCodes = 8;

inline constexpr float kMostCode = 15.0f;
inline constexpr float kMostFloat = std::numeric_limits<float>::max();
inline constexpr std::uint16_t kNoNumber = 0x7fc0;  // NaN as bf16

__host__ __device__ constexpr std::uint32_t q4_lines_bytes(std::uint32_t head_dim) {
  return 4 * head_dim;
}

struct Line {
  std::uint16_t step, least;  // bf16

  __device__ float number(std::uint32_t code) const {
    return static_cast<float>(code) * from_bf16(step) + from_bf16(least);
  }
  __device__ std::uint32_t code(float x) const {
    const float width = from_bf16(step);
    if (!(width > 0.0f)) return 0;
    const float level = rintf((x - from_bf16(least)) / width);
    return static_cast<std::uint32_t>(fminf(fmaxf(level, 0.0f), kMostCode));
  }
};

// Of n numbers: at(i).
template <class At>
__device__ Line line_of(std::uint32_t n, At at) {
  float least = at(0), most = least, broken = 0.0f;
  for (std::uint32_t i = 0; i < n; ++i) {
    const float x = at(i);
    least = fminf(least, x);
    most = fmaxf(most, x);
    broken += x * 0.0f;  // NaN for NaN and for infinity
  }
  const std::uint16_t from = to_bf16(least);
  const float step = from_bf16(to_bf16((most - from_bf16(from)) / kMostCode));
  if (broken == 0.0f && step <= kMostFloat) return {to_bf16(fmaxf(step, 0.0f)), from};
  return {kNoNumber, 0};
}

// Where things of a block lie: lines, words, and codes of words.
struct Q4Block {
  std::uint32_t head_dim;
  bool values;

  // Of element (token, dimension).
  __device__ std::uint32_t line(std::uint32_t t, std::uint32_t d) const {
    return values ? d / kLineDims * kFileBlockTokens + t : d;
  }
  __device__ std::uint32_t word(std::uint32_t t, std::uint32_t d) const {
    return values ? t / kWordCodes * head_dim + d : d / kWordCodes * kFileBlockTokens + t;
  }
  __device__ std::uint32_t shift(std::uint32_t t, std::uint32_t d) const {
    return (values ? t : d) % kWordCodes * 4;
  }
};

// rows(t): row t of the block, bf16. Of n tokens; block: in shared memory.
template <class Rows>
__device__ void unpack_q4(const Q4Block& q4, const std::byte* block, std::uint32_t n, Rows rows) {
  const auto* lines = reinterpret_cast<const Line*>(block);
  const auto* words = reinterpret_cast<const std::uint32_t*>(block + q4_lines_bytes(q4.head_dim));
  for (std::uint32_t i = threadIdx.x; i < n * q4.head_dim; i += blockDim.x) {
    const std::uint32_t t = i / q4.head_dim, d = i % q4.head_dim;
    const std::uint32_t code = words[q4.word(t, d)] >> q4.shift(t, d) & 15u;
    rows(t)[d] = to_bf16(lines[q4.line(t, d)].number(code));
  }
}

// The other way. block: all zeros, and a barrier behind that.
template <class Rows>
__device__ void pack_q4(const Q4Block& q4, std::byte* block, std::uint32_t n, Rows rows) {
  auto* lines = reinterpret_cast<Line*>(block);
  auto* words = reinterpret_cast<std::uint32_t*>(block + q4_lines_bytes(q4.head_dim));
  const std::uint32_t n_value_lines = n * (q4.head_dim / kLineDims);
  for (std::uint32_t i = threadIdx.x; i < (q4.values ? n_value_lines : q4.head_dim);
       i += blockDim.x) {
    const std::uint32_t t = i % n, d = i / n * kLineDims;  // of a value's line
    if (q4.values)
      lines[q4.line(t, d)] =
          line_of(kLineDims, [&](std::uint32_t k) { return from_bf16(rows(t)[d + k]); });
    else
      lines[i] = line_of(n, [&](std::uint32_t token) { return from_bf16(rows(token)[i]); });
  }
  __syncthreads();
  // A thread has a word: eight dimensions of a key, or eight tokens of a value's dimension.
  for (std::uint32_t i = threadIdx.x; i < 2 * q4.head_dim; i += blockDim.x) {
    std::uint32_t codes = 0;
    for (std::uint32_t k = 0; k < kWordCodes; ++k) {
      const std::uint32_t t = q4.values ? i / q4.head_dim * kWordCodes + k : i % kFileBlockTokens;
      const std::uint32_t d = q4.values ? i % q4.head_dim : i / kFileBlockTokens * kWordCodes + k;
      if (t < n) codes |= lines[q4.line(t, d)].code(from_bf16(rows(t)[d])) << q4.shift(t, d);
    }
    words[i] = codes;
  }
}

}  // namespace pc::cuda
