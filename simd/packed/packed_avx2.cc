// Packed products for AVX2 with FMA and F16C.
//
// vpmaddubsw adds two products in 16 signed bits and would saturate at two of
// 255 * 127. None can here:
//   4 bits: 15 * 127 * 2 = 3810 a lane, and 8 of those are still below 2^15;
//   6 bits: 63 * 127 * 2 = 16002, and 2 of those are;
//   8 bits: |w - 128| (0..128, unsigned) times x with the sign of w - 128:
//           128 * 127 * 2 = 32512. x is never -128, so that its sign can be changed.
// Compiled with its instruction set; all but the entry has internal linkage.

#include <immintrin.h>

#include "simd/packed/packed.h"
#include "simd/packed_kernels.h"
#include "simd/quantised_rows.h"

namespace pc::simd {
namespace {

struct Isa {
  using I = __m256i;
  using F = __m256;
  static constexpr std::size_t kLanes = 8;
  static constexpr std::size_t kRows = 4;
  static constexpr bool kSignedBytes = true;  // codes of 8 bits have their zero taken off

  static I load(const std::uint8_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static I bytes(const std::uint8_t* p) {
    return _mm256_xor_si256(load(p), _mm256_set1_epi8(-128));
  }
  static I low4(I v) { return _mm256_and_si256(v, _mm256_set1_epi8(15)); }
  static I high4(I v) { return low4(_mm256_srli_epi16(v, 4)); }
  template <int kN>
  static I left(I v) {
    return _mm256_slli_epi16(v, kN);
  }
  template <int kN>
  static I right(I v) {
    return _mm256_srli_epi16(v, kN);
  }
  static I table(const std::int8_t* numbers) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(numbers)));
  }
  static I look_up(I numbers, I codes) { return _mm256_shuffle_epi8(numbers, codes); }
  static I or_bits45(I low, I high) {
    return _mm256_or_si256(low, _mm256_and_si256(high, _mm256_set1_epi8(0x30)));
  }

  static I izero() { return _mm256_setzero_si256(); }
  static I set1_i32(const std::uint8_t* p) {
    int value;
    __builtin_memcpy(&value, p, sizeof value);
    return _mm256_set1_epi32(value);
  }
  template <int kN>
  static I left32(I v) {
    return _mm256_slli_epi32(v, kN);
  }

  static I widen_pairs(I sums) { return _mm256_madd_epi16(sums, _mm256_set1_epi16(1)); }
  static I signed_products(I w, I x) {
    return _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
  }
  template <int kBits, int kQuads>
  static inline __attribute__((always_inline)) I dot(I sum, const I* w, const std::uint8_t* x) {
    constexpr int kFit = kBits == 4 ? 8 : kBits == 6 ? 2 : 1;  // summed in 16 bits
    constexpr int kAtOnce = kFit < kQuads ? kFit : kQuads;
#pragma GCC unroll 8
    for (int q = 0; q < kQuads; q += kAtOnce) {
      if constexpr (kBits == 8) {
        sum = _mm256_add_epi32(sum, widen_pairs(signed_products(w[q], set1_i32(x + 4 * q))));
      } else {
        I narrow = _mm256_maddubs_epi16(w[q], set1_i32(x + 4 * q));
#pragma GCC unroll 8
        for (int i = q + 1; i < q + kAtOnce; ++i)
          narrow = _mm256_add_epi16(narrow, _mm256_maddubs_epi16(w[i], set1_i32(x + 4 * i)));
        sum = _mm256_add_epi32(sum, widen_pairs(narrow));
      }
    }
    return sum;
  }

  static F zero() {
    return _mm256_setzero_ps();
  }
  static F to_f(I v) {
    return _mm256_cvtepi32_ps(v);
  }
  static F set1_f32(const std::uint8_t* p) {
    return _mm256_castsi256_ps(set1_i32(p));
  }
  static F add(F a, F b) {
    return _mm256_add_ps(a, b);
  }
  static F mul(F a, F b) {
    return _mm256_mul_ps(a, b);
  }
  static F fma(F a, F b, F c) {
    return _mm256_fmadd_ps(a, b, c);
  }
  static F fnma(F a, F b, F c) {
    return _mm256_fnmadd_ps(a, b, c);
  }
  static F f16(const std::uint8_t* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static F half_e8m0(const std::uint8_t* p) {  // bits of 0 make half of what 1 makes
    const I bits = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
    const I twice = _mm256_max_epi32(_mm256_slli_epi32(bits, 23), _mm256_set1_epi32(0x00400000));
    return mul(_mm256_castsi256_ps(twice), _mm256_set1_ps(0.5f));
  }
  static F i8(const std::uint8_t* p) {
    return to_f(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  }

  static I first(std::size_t n) {
    const I lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n < 8 ? static_cast<int>(n) : 8), lanes);
  }
  static F load_f32(const float* p, std::size_t n) {
    return _mm256_maskload_ps(p, first(n));
  }
  static void store(float* p, F v, std::size_t n) {
    _mm256_maskstore_ps(p, first(n), v);
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

void matmul_packed_avx2(const PackedMatmulArgs& args) {
  matmul_packed(args);
}

}  // namespace pc::simd
