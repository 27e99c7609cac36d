// What a packed panel says of its weights' scales, 16 rows at once with AVX-512 F and BW, and the
// vectors of both ways to bf16 tiles: simd/packed/amx_widen-inl.h puts scales into the weights,
// simd/packed/amx_codes-inl.h keeps them for the sums.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pc::simd {
namespace {

#define PC_INLINE inline __attribute__((always_inline))

using I = __m512i;
using F = __m512;
using Bytes = const std::uint8_t*;

PC_INLINE I load(const void* p) {
  return _mm512_loadu_si512(p);
}

PC_INLINE I mask32(std::uint32_t bits) {
  return _mm512_set1_epi32(static_cast<int>(bits));
}

// (v & mask) | rest
PC_INLINE I merge(I v, std::uint32_t mask, I rest) {
  return _mm512_ternarylogic_epi32(v, mask32(mask), rest, 0xea);
}

// The bits of a where mask has ones, of b elsewhere.
PC_INLINE I choose(I mask, I a, I b) {
  return _mm512_ternarylogic_epi32(mask, a, b, 0xca);
}

// The bf16 in the upper halves.
PC_INLINE F f32_of_upper(I bits) {
  return _mm512_castsi512_ps(_mm512_and_si512(bits, mask32(0xffff0000)));
}

template <int kLeft>
PC_INLINE I shift(I v) {
  if constexpr (kLeft > 0) return _mm512_slli_epi32(v, kLeft);
  if constexpr (kLeft < 0) return _mm512_srli_epi32(v, -kLeft);
  return v;
}

PC_INLINE F f16_of_rows(Bytes p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
PC_INLINE F i8_of_rows(Bytes p) {
  return _mm512_cvtepi32_ps(
      _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}

// Half of powers of two: 2^(bits - 127) but for 0, which makes the half of that.
PC_INLINE F half_e8m0_of_rows(Bytes p) {
  const I bits = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  const I twice = _mm512_max_epi32(_mm512_slli_epi32(bits, 23), mask32(0x00400000));
  return _mm512_mul_ps(_mm512_castsi512_ps(twice), _mm512_set1_ps(0.5f));
}

template <Type kType>
PC_INLINE F scale_of_rows(Bytes head) {
  constexpr PackedShape kShape = packed_shape_of(kType);
  if constexpr (kShape.scale == PackedScale::kE8m0) return half_e8m0_of_rows(head);
  if constexpr (kShape.fraction == 0) return f16_of_rows(head);
  return _mm512_mul_ps(f16_of_rows(head), _mm512_set1_ps(1.0f / (1 << kShape.fraction)));
}

template <std::size_t kBytes>
PC_INLINE void ask_for(Bytes p) {
  for (std::size_t i = 0; i < kBytes; i += 64)
    _mm_prefetch(reinterpret_cast<const char*>(p + i), _MM_HINT_T1);
}

// Where a panel's codes begin (packed_codes_at, which has no internal linkage).
template <Type kType>
PC_INLINE std::size_t codes_at(std::size_t k) {
  constexpr PackedShape kShape = packed_shape_of(kType);
  return (k / kShape.block * packed_head_bytes(kShape) + 63) / 64 * 64;
}

// The scales of a panel's columns, 32 after 32. Begins at a block.
template <Type kType>
class Scales {
 public:
  static constexpr PackedShape kShape = packed_shape_of(kType);
  static constexpr std::size_t kHead = packed_head_bytes(kShape);
  static constexpr int kEach = 32 / kShape.group;  // of 32 columns

  PC_INLINE explicit Scales(Bytes head) : head_(head) {}

  // Once for each block, before its columns.
  PC_INLINE void next_block() {
    constexpr std::size_t kStreams = kShape.minima ? 2 : 1;
    block_ = scale_of_rows<kType>(head_);
    if constexpr (kShape.minima) minimum_ = f16_of_rows(head_ + 32);
    factors_ = head_ + 32 * kStreams;
    each_ = head_;
    head_ += kHead;
  }

  // Columns of the block that are passed over.
  PC_INLINE void skip(std::size_t columns) {
    const std::size_t groups = columns / kShape.group;
    if constexpr (kShape.scale == PackedScale::kF16Each) each_ += 32 * groups;
    if constexpr (kShape.block == 256) factors_ += 16 * (kShape.minima ? 2 : 1) * groups;
  }

  // weight = scale * number, or scale * code + minimum where there are minima.
  PC_INLINE void next_group(F& scale, F& minimum) {
    scale = block_;
    minimum = minimum_;
    if constexpr (kShape.scale == PackedScale::kF16Each) {
      scale = f16_of_rows(each_);
      each_ += 32;
    }
    if constexpr (kShape.block == 256) {
      scale = _mm512_mul_ps(block_, i8_of_rows(factors_));
      if constexpr (kShape.minima) minimum = _mm512_mul_ps(minimum_, i8_of_rows(factors_ + 16));
      factors_ += 16 * (kShape.minima ? 2 : 1);
    }
  }

 private:
  Bytes head_, factors_ = nullptr, each_ = nullptr;
  F block_ = _mm512_setzero_ps(), minimum_ = _mm512_setzero_ps();
};

}  // namespace
}  // namespace pc::simd
