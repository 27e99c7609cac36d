// Attention over q8 states by dot products of bytes, with queries and weights in bytes
// too (docs/adr/0011-q8-states.md). What a multiplier has: simd/attend_multiply-inl.h.
// Per target: included again for each instruction set (see hwy_kernels.cc).
#if defined(PROMPTCACHE_SIMD_ATTEND_QUADS_) == defined(HWY_TARGET_TOGGLE)
#ifdef PROMPTCACHE_SIMD_ATTEND_QUADS_
#undef PROMPTCACHE_SIMD_ATTEND_QUADS_
#else
#define PROMPTCACHE_SIMD_ATTEND_QUADS_
#endif

#include <hwy/highway.h>

#include "simd/attend_multiply-inl.h"
#include "simd/elements-inl.h"
#include "simd/exp-inl.h"
#include "simd/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace pc::simd::HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR  // vectors of one hold no quads

// Added to a weight before it is cut to an integer, by its place in the block: of equal
// weights that are a fraction of a step, that fraction of them counts one step, and a
// long flat tail keeps its sum. (i + 1/2) / 16 with the bits of i reversed. The 2^15
// leaves 8 bits of fraction in a float: the second byte of its bits is the integer.
constexpr float kCut = 0x1p15f;
alignas(64) constexpr float kDither[kBlock] = {
    kCut + 0x1p-5f, kCut + 0x11p-5f, kCut + 0x9p-5f, kCut + 0x19p-5f,
    kCut + 0x5p-5f, kCut + 0x15p-5f, kCut + 0xdp-5f, kCut + 0x1dp-5f,
    kCut + 0x3p-5f, kCut + 0x13p-5f, kCut + 0xbp-5f, kCut + 0x1bp-5f,
    kCut + 0x7p-5f, kCut + 0x17p-5f, kCut + 0xfp-5f, kCut + 0x1fp-5f};

using D4 = hn::CappedTag<float, 4>;
constexpr D4 k4;

// The largest lane of each of four vectors.
HWY_INLINE hn::Vec<D4> largest_of_four(const VF (&v)[4]) {
  alignas(16) float largest[4];
  fold_four<Largest>(v[0], v[1], v[2], v[3], largest);
  return hn::LoadU(k4, largest);
}

// Queries are rounded to 8 bits with a scale for as many dimensions as keys have one for,
// and weights, times the scales of their values, with a scale for each row and block of
// tokens: products and the sums of a group, and of a block, are integers. Dot has
//   kSigned  it multiplies signed bytes; else unsigned ones with signed ones
//   keys(sum, key, query), values(sum, weight, value)  sum + the products of 4 bytes
// notes: what the group's sums of a row begin with, then its scale. Keys are stored plus 128:
// where they are multiplied so, sums begin with -128 * the sum of the query's codes.
// factors of a block of values: 16 codes in 4 words, their scale.
template <class Dot>
struct MultiplyQuads : MultiplyWords {
  static constexpr std::size_t kPerWord = 4, kGroupWords = MultiplyQ8::kGroupWords, kNotes = 2;
  static constexpr bool kSumsBlocks = true;
  static constexpr std::size_t head_words(std::size_t head_dim) {
    return MultiplyQ8::head_words(head_dim);
  }
  static constexpr float kMostWeight = Dot::kSigned ? 127.0f : 255.0f;
  using Sum = VI;
  static HWY_INLINE void load_keys(const std::uint32_t* p, VU (&of)[1]) {
    of[0] = hn::LoadU(kU, p);
    if (Dot::kSigned) of[0] = hn::Xor(of[0], hn::Set(kU, 0x80808080u));  // less 128
  }
  static HWY_INLINE VI multiply_add(VU factor, VU operand, VI sum) {
    return Dot::keys(sum, operand, factor);
  }
  // One group of a row's dimensions, n of them.
  template <std::size_t kR>
  static HWY_INLINE void store_group(const float* q, std::size_t n, float* to) {
    VF top = hn::Zero(kF), broken = top;  // NaN where a query is not finite
    for (std::size_t d = 0; d < n; d += kN) {
      const VF x = load_f32(q + d);
      top = hn::Max(top, hn::Abs(x));
      broken = hn::MulAdd(x, hn::Zero(kF), broken);
    }
    const float most = hn::GetLane(hn::MaxOfLanes(kF, top));
    const VF inverse = hn::Set(kF, most >= kLeastScale ? 127.0f / most : 0.0f);
    VI sum = hn::Zero(kI);
    alignas(64) std::int8_t codes[kN];
    for (std::size_t d = 0; d < n; d += kN) {
      const auto code = hn::DemoteTo(kI8, hn::NearestInt(hn::Mul(load_f32(q + d), inverse)));
      sum = hn::Add(sum, hn::PromoteTo(kI, code));  // as stored: others may overflow
      hn::StoreU(code, kI8, codes);
      for (std::size_t i = 0; i < kN / 4; ++i)
        __builtin_memcpy(to + (kNotes + d / 4 + i) * kR, codes + 4 * i, 4);
    }
    const std::int32_t first = Dot::kSigned ? 0 : -128 * hn::GetLane(hn::SumOfLanes(kI, sum));
    __builtin_memcpy(to, &first, sizeof first);
    to[kR] = most / 127.0f + hn::GetLane(hn::SumOfLanes(kF, broken));
  }
  template <std::size_t kR>
  static HWY_INLINE void store_queries(const float* q, std::size_t head_dim, float* to) {
    for (std::size_t d = 0; d < head_dim; d += kKeyScaleDims) {
      const std::size_t n = head_dim - d < kKeyScaleDims ? head_dim - d : kKeyScaleDims;
      for (std::size_t r = 0; r < kR; ++r) store_group<kR>(q + r * head_dim + d, n, to + r);
      to += (kNotes + n / kPerWord) * kR;
    }
  }
  template <std::size_t kR>
  static HWY_INLINE VI first_sum(const float* notes, std::size_t r) {
    std::int32_t first;
    __builtin_memcpy(&first, notes + r, sizeof first);
    return hn::Set(kI, first);
  }
  template <std::size_t kR>
  static HWY_INLINE VF score(VI sum, VF scales, const float* notes, std::size_t r) {
    return hn::Mul(hn::ConvertTo(kF, sum), hn::Mul(scales, hn::Set(kF, notes[kR + r])));
  }
  // Weights times scales and the largest of each block, four blocks at a time; then codes.
  static HWY_INLINE VF store_weights(float* row, std::size_t n, VF shift,
                                     const std::uint32_t* values, std::size_t block_words) {
    alignas(64) float most[kChunkBlocks] = {}, steps[kChunkBlocks];
    VF sum = hn::Zero(kF);
    for (std::size_t b = 0; b < n; b += 4) {
      VF top[4] = {hn::Zero(kF), hn::Zero(kF), hn::Zero(kF), hn::Zero(kF)};
      for (std::size_t j = 0; j < 4 && b + j < n; ++j, values += block_words)
        for (std::size_t i = 0; i < kBlock; i += kN) {
          float* const to = row + (b + j) * kBlock + i;
          const VF weight = exp_coarse(hn::Sub(load_f32(to), shift));
          const VF scaled = hn::Mul(weight, load_scales(values + i));
          hn::StoreU(scaled, kF, to);
          top[j] = hn::Max(top[j], scaled);
          sum = hn::Add(sum, weight);
        }
      hn::StoreU(largest_of_four(top), k4, most + b);
    }
    for (std::size_t b = 0; b < n; b += kN) {
      const VF top = load_f32(most + b);
      const VF finite = hn::IfThenElseZero(hn::Ge(top, hn::Set(kF, kLeastScale)),
                                           hn::Div(hn::Set(kF, kMostWeight), top));
      hn::StoreU(finite, kF, steps + b);
      hn::StoreU(hn::Mul(top, hn::Set(kF, 1.0f / kMostWeight)), kF, most + b);
    }
    for (std::size_t b = 0; b < n; ++b)
      store_codes(row + b * kBlock, hn::Set(kF, steps[b]), most[b]);
    return sum;
  }
  static HWY_INLINE void store_codes(float* block, VF inverse, float scale) {
    auto* codes = reinterpret_cast<std::uint8_t*>(block);
    for (std::size_t i = 0; i < kBlock; i += kN) {
      const VF cut = hn::MulAdd(load_f32(block + i), inverse, load_f32(kDither + i));
      const VU code = hn::And(hn::ShiftRight<8>(hn::BitCast(kU, cut)), hn::Set(kU, 0xffu));
      hn::StoreU(hn::U8FromU32(code), kU8, codes + i);
    }
    block[kBlock / 4] = scale;
  }
  template <std::size_t kR, std::size_t kV>
  static HWY_INLINE void add_values(const float* factors, std::size_t row_stride,
                                    const VU (&values)[kBlock / 4][kV], VF (&acc)[kR][kV]) {
    for (std::size_t r = 0; r < kR; ++r, factors += row_stride) {
      const VF scale = hn::Set(kF, factors[kBlock / 4]);
      VI sum[kV];
      for (std::size_t v = 0; v < kV; ++v) sum[v] = hn::Zero(kI);
      for (std::size_t s = 0; s < kBlock / 4; ++s) {
        const VU factor = MultiplyWords::broadcast(factors + s);
        for (std::size_t v = 0; v < kV; ++v) sum[v] = Dot::values(sum[v], factor, values[s][v]);
      }
      for (std::size_t v = 0; v < kV; ++v)
        acc[r][v] = hn::MulAdd(hn::ConvertTo(kF, sum[v]), scale, acc[r][v]);
    }
  }
};

#if HWY_TARGET == HWY_AVX3
// AVX512_VNNI by its mnemonic, as in simd/attend_multiply-inl.h.
struct DotVnni {
  static constexpr bool kSigned = false;
  static HWY_INLINE VI keys(VI sum, VU u, VU s) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(u.raw), "v"(s.raw));
    return sum;
  }
  static HWY_INLINE VI values(VI sum, VU u, VU s) { return keys(sum, u, s); }
};
#elif HWY_TARGET == HWY_AVX2
// AVX2 adds two products of unsigned and signed bytes in 16 bits: 2 * 127 * 127 fits.
struct DotAvx2 {
  static constexpr bool kSigned = true;
  static HWY_INLINE VI add(VI sum, __m256i u, __m256i s) {
    const __m256i pairs = _mm256_maddubs_epi16(u, s);
    return VI{_mm256_add_epi32(sum.raw, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))};
  }
  static HWY_INLINE VI keys(VI sum, VU key, VU query) {
    return add(sum, _mm256_abs_epi8(key.raw), _mm256_sign_epi8(query.raw, key.raw));
  }
  static HWY_INLINE VI values(VI sum, VU weight, VU value) {
    return add(sum, weight.raw, value.raw);
  }
};
#elif HWY_ARCH_ARM_A64
// Armv8.2's dot product. Where the compiler does not take the CPU to have it, .arch
// lets the assembler know it.
struct DotNeon {
  static constexpr bool kSigned = true;
  static HWY_INLINE VI keys(VI sum, VU a, VU b) {
#if defined(__ARM_FEATURE_DOTPROD)
    return VI(vdotq_s32(sum.raw, vreinterpretq_s8_u32(a.raw), vreinterpretq_s8_u32(b.raw)));
#else
    asm(".arch armv8.2-a+crypto+dotprod\n\tsdot %0.4s, %1.16b, %2.16b"
        : "+w"(sum.raw)
        : "w"(a.raw), "w"(b.raw));
    return sum;
#endif
  }
  static HWY_INLINE VI values(VI sum, VU a, VU b) {
    return keys(sum, a, b);
  }
};
#endif  // which target

#endif  // HWY_SCALAR

}  // namespace
}  // namespace pc::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
