// <immintrin.h> for a CPU that has none of it: hand-written intrinsics compiled
// with this folder before the system's run through SIMDe's portable C, so that
// their tests run anywhere. No instruction that SIMDe replaces is used natively.
//
// SIMDe 0.7.4 lacks some that simd/ needs, or reads too much; they are here, lane by lane.
// Tests only. Home of SIMDe.
#pragma once

#define SIMDE_NO_NATIVE
#define SIMDE_NO_INLINE  // loops over lanes, unrolled in place sixteen times, would take minutes to
                         // compile
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx2.h>
#include <simde/x86/avx512.h>
#include <simde/x86/f16c.h>
#include <simde/x86/fma.h>

using __mmask16 = simde__mmask16;

namespace pc::simde {

template <class To, class From>
inline To from_bits(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

struct Halves {
  __m256 low, high;
};

inline __m512 cvtph_ps(__m256i halves) {
  __m128i part[2];
  __builtin_memcpy(part, &halves, sizeof part);
  return from_bits<__m512>(Halves{_mm256_cvtph_ps(part[0]), _mm256_cvtph_ps(part[1])});
}

struct Lanes {
  int i[16];
};
struct Floats {
  float f[16];
};

inline __m512i cvtepi8_epi32(__m128i bytes) {
  signed char b[16];
  __builtin_memcpy(b, &bytes, sizeof b);
  Lanes r;
  for (int i = 0; i < 16; ++i) r.i[i] = b[i];
  return from_bits<__m512i>(r);
}

inline __m512i cvtepu8_epi32(__m128i bytes) {
  unsigned char b[16];
  __builtin_memcpy(b, &bytes, sizeof b);
  Lanes r;
  for (int i = 0; i < 16; ++i) r.i[i] = b[i];
  return from_bits<__m512i>(r);
}

inline __m512i srai_epi32(__m512i v, int n) {
  Lanes lanes = from_bits<Lanes>(v);
  for (int& i : lanes.i) i >>= n;
  return from_bits<__m512i>(lanes);
}

inline __m512 cvtepi32_ps(__m512i v) {
  const Lanes lanes = from_bits<Lanes>(v);
  Floats r;
  for (int i = 0; i < 16; ++i) r.f[i] = static_cast<float>(lanes.i[i]);
  return from_bits<__m512>(r);
}

// SIMDe's own reads all eight.
inline __m256 maskload_ps(const float* p, __m256i mask) {
  int lanes[8];
  float r[8];
  __builtin_memcpy(lanes, &mask, sizeof lanes);
  for (int i = 0; i < 8; ++i) r[i] = lanes[i] < 0 ? p[i] : 0.0f;
  return from_bits<__m256>(r);
}

inline __m512 maskz_loadu_ps(unsigned mask, const float* p) {
  Floats r;
  for (int i = 0; i < 16; ++i) r.f[i] = mask >> i & 1 ? p[i] : 0.0f;
  return from_bits<__m512>(r);
}

inline void mask_storeu_ps(float* p, unsigned mask, __m512 v) {
  const Floats lanes = from_bits<Floats>(v);
  for (int i = 0; i < 16; ++i)
    if (mask >> i & 1) p[i] = lanes.f[i];
}

}  // namespace pc::simde

#undef _mm256_maskload_ps
#define _mm256_maskload_ps(p, mask) pc::simde::maskload_ps(p, mask)
#define _mm512_cvtph_ps(a) pc::simde::cvtph_ps(a)
#define _mm512_cvtepi8_epi32(a) pc::simde::cvtepi8_epi32(a)
#define _mm512_cvtepu8_epi32(a) pc::simde::cvtepu8_epi32(a)
#define _mm512_srai_epi32(a, n) pc::simde::srai_epi32(a, n)
#define _mm512_cvtepi32_ps(a) pc::simde::cvtepi32_ps(a)
#define _mm512_maskz_loadu_ps(mask, p) pc::simde::maskz_loadu_ps(mask, p)
#define _mm512_mask_storeu_ps(p, mask, v) pc::simde::mask_storeu_ps(p, mask, v)

// Nor ours, for the same reason.
#define always_inline
