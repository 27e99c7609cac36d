// Packed products for AVX-512 with VNNI: vpdpbusd multiplies unsigned codes of
// weights with signed codes of activations and adds four products a lane to 32
// bits, exactly.
// Compiled with its instruction set; all but the entry has internal linkage.

#include <immintrin.h>

#include "simd/packed/packed.h"
#include "simd/packed_kernels.h"
#include "simd/quantised_rows.h"

namespace pc::simd {
namespace {

struct Isa {
  using I = __m512i;
  using F = __m512;
  static constexpr std::size_t kLanes = 16;
  static constexpr std::size_t kRows = 16;  // 16 sums + 8 vectors of codes + scales: 32 registers
  static constexpr bool kSignedBytes = false;

  static I load(const std::uint8_t* p) { return _mm512_loadu_si512(p); }
  static I bytes(const std::uint8_t* p) { return load(p); }
  static I low4(I v) { return _mm512_and_si512(v, _mm512_set1_epi8(15)); }
  static I high4(I v) { return low4(_mm512_srli_epi16(v, 4)); }
  template <int kN>
  static I left(I v) {
    return _mm512_slli_epi16(v, kN);
  }
  template <int kN>
  static I right(I v) {
    return _mm512_srli_epi16(v, kN);
  }
  static I table(const std::int8_t* numbers) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(numbers)));
  }
  static I look_up(I numbers, I codes) { return _mm512_shuffle_epi8(numbers, codes); }
  static I or_bits45(I low, I high) {
    return _mm512_ternarylogic_epi32(low, high, _mm512_set1_epi8(0x30), 0xf8);  // low | (high & 30)
  }

  static I izero() { return _mm512_setzero_si512(); }
  static I set1_i32(const std::uint8_t* p) {
    int value;
    __builtin_memcpy(&value, p, sizeof value);
    return _mm512_set1_epi32(value);
  }
  template <int kN>
  static I left32(I v) {
    return _mm512_slli_epi32(v, kN);
  }
  template <int kBits, int kQuads>
  static inline __attribute__((always_inline)) I dot(I sum, const I* w, const std::uint8_t* x) {
    // Eight in one chain are 32 cycles of latency, more than the rows in flight cover.
    constexpr int kEach = kQuads == 8 ? 4 : kQuads;
    I other = izero();
#pragma GCC unroll 4
    for (int q = 0; q < kEach; ++q) {
      sum = _mm512_dpbusd_epi32(sum, w[q], set1_i32(x + 4 * q));
      if constexpr (kEach < kQuads)
        other = _mm512_dpbusd_epi32(other, w[q + 4], set1_i32(x + 4 * q + 16));
    }
    return kEach < kQuads ? _mm512_add_epi32(sum, other) : sum;
  }

  static F zero() {
    return _mm512_setzero_ps();
  }
  static F to_f(I v) {
    return _mm512_cvtepi32_ps(v);
  }
  static F set1_f32(const std::uint8_t* p) {
    return _mm512_castsi512_ps(set1_i32(p));
  }
  static F add(F a, F b) {
    return _mm512_add_ps(a, b);
  }
  static F mul(F a, F b) {
    return _mm512_mul_ps(a, b);
  }
  static F fma(F a, F b, F c) {
    return _mm512_fmadd_ps(a, b, c);
  }
  static F fnma(F a, F b, F c) {
    return _mm512_fnmadd_ps(a, b, c);
  }
  static F f16(const std::uint8_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static F half_e8m0(const std::uint8_t* p) {  // bits of 0 make half of what 1 makes
    const I bits = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    const I twice = _mm512_max_epi32(_mm512_slli_epi32(bits, 23), _mm512_set1_epi32(0x00400000));
    return mul(_mm512_castsi512_ps(twice), _mm512_set1_ps(0.5f));
  }
  static F i8(const std::uint8_t* p) {
    return to_f(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }

  static __mmask16 first(std::size_t n) {
    return static_cast<__mmask16>(n >= 16 ? 0xffff : (1u << n) - 1);
  }
  static F load_f32(const float* p, std::size_t n) {
    return _mm512_maskz_loadu_ps(first(n), p);
  }
  static void store(float* p, F v, std::size_t n) {
    _mm512_mask_storeu_ps(p, first(n), v);
  }

  template <std::size_t kBytes>
  static inline __attribute__((always_inline)) void prefetch(const std::uint8_t* p) {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kBytes; i += 64)
      _mm_prefetch(reinterpret_cast<const char*>(p + i), _MM_HINT_T0);
  }
};

}  // namespace
}  // namespace pc::simd

#include "simd/packed/packed-inl.h"

namespace pc::simd {

void matmul_packed_vnni(const PackedMatmulArgs& args) {
  matmul_packed(args);
}

}  // namespace pc::simd
