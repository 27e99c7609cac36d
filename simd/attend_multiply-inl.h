// What multiplies in attention: f32, bf16 or q8 widened to f32, or pairs of bf16
// and quads of q8 by a dot product. A packed word of 32 bits holds 1, 2 or 4 elements.
// Per target: included again for each instruction set (see hwy_kernels.cc).
#if defined(PROMPTCACHE_SIMD_ATTEND_MULTIPLY_) == defined(HWY_TARGET_TOGGLE)
#ifdef PROMPTCACHE_SIMD_ATTEND_MULTIPLY_
#undef PROMPTCACHE_SIMD_ATTEND_MULTIPLY_
#else
#define PROMPTCACHE_SIMD_ATTEND_MULTIPLY_
#endif

#include <hwy/highway.h>

#include "simd/elements-inl.h"
#include "simd/exp-inl.h"
#include "simd/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace pc::simd::HWY_NAMESPACE {
namespace {

using VU = hn::Vec<DU>;
constexpr hn::Rebind<std::uint16_t, DF> k16;
constexpr hn::Rebind<std::int8_t, DF> kI8;
constexpr hn::Rebind<std::uint8_t, DF> kU8;

// Tokens scored before the accumulator is rescaled once: the scores of a tile of 8
// rows take 8 KiB of a 32 KiB L1 cache; keys and values, 32 KiB each of bf16 at
// head_dim 64, stream through it from the L2.
constexpr std::size_t kChunkBlocks = 16;
constexpr std::size_t kChunk = kChunkBlocks * kBlock;

// Each multiplier has:
//   kPerWord    elements a packed word; kOperands multiplications for them
//   head_words  words of scales that a packed block begins with
//   kGroupWords words of a key that share a scale; 0: there are none
//   load_keys, load_values  the operands (of type Operand) of a vector of words
//   broadcast  the factor of one of them; stored as a float, whatever it means
//   kNotes     floats a row of queries before the factors of a group, for all rows
//   store_queries  [kR][head_dim] -> for each group (all words, where keys have no scales)
//              [kNotes][kR], [words * kOperands][kR]
//   first_sum  what the Sum of a group's products of row r begins with
//   score      what that sum means, with the scales of the group's keys
//   kFactors   floats from one block's factors of values to the next's
//   store_weights  a row of scores -> exp(score - shift), in place as the factors of the
//              n blocks (at most kChunkBlocks) at `values`; returns the sum of the
//              weights: as rounded to bf16, but of quads before they are cut
//   add_values (where kSumsBlocks) a block of values, weighted, to the sums of all rows
struct MultiplyF32 {
  static constexpr std::size_t kPerWord = 1, kOperands = 1, kGroupWords = 0, kNotes = 0;
  static constexpr std::size_t head_words(std::size_t) { return 0; }
  static constexpr std::size_t kFactors = kBlock;
  static constexpr bool kSumsBlocks = false;
  using Operand = VF;
  using Sum = VF;
  static HWY_INLINE void load_keys(const std::uint32_t* p, VF (&of)[1]) {
    of[0] = hn::BitCast(kF, hn::LoadU(kU, p));
  }
  static HWY_INLINE void load_values(const std::uint32_t* p, VF (&of)[1]) { load_keys(p, of); }
  static HWY_INLINE VF broadcast(const float* p) { return hn::Set(kF, *p); }
  static HWY_INLINE VF multiply_add(VF factor, VF operand, VF sum) {
    return hn::MulAdd(factor, operand, sum);
  }
  template <std::size_t kR>
  static HWY_INLINE void store_queries(const float* q, std::size_t head_dim, float* to) {
    for (std::size_t d = 0; d < head_dim; ++d)
      for (std::size_t r = 0; r < kR; ++r) *to++ = q[r * head_dim + d];
  }
  template <std::size_t kR>
  static HWY_INLINE VF first_sum(const float*, std::size_t) {
    return hn::Zero(kF);
  }
  template <std::size_t kR>
  static HWY_INLINE VF score(VF sum, VF, const float*, std::size_t) {
    return sum;
  }
  static HWY_INLINE VF store_weights(float* row, std::size_t n, VF shift, const std::uint32_t*,
                                     std::size_t) {
    VF sum = hn::Zero(kF);
    for (std::size_t t = 0; t < n * kBlock; t += kN) {
      const VF weight = exp_negative(hn::Sub(load_f32(row + t), shift));
      hn::StoreU(weight, kF, row + t);
      sum = hn::Add(sum, weight);
    }
    return sum;
  }
};

// The low half of a word is shifted up, the high half already is an f32 once
// the low bits are cleared.
struct MultiplyBf16 : MultiplyF32 {
  static constexpr std::size_t kPerWord = 2, kOperands = 2;
  static HWY_INLINE void load_keys(const std::uint32_t* p, VF (&of)[2]) {
    const VU pairs = hn::LoadU(kU, p);
    of[0] = hn::BitCast(kF, hn::ShiftLeft<16>(pairs));
    of[1] = hn::BitCast(kF, hn::And(pairs, hn::Set(kU, 0xffff0000u)));
  }
  static HWY_INLINE void load_values(const std::uint32_t* p, VF (&of)[2]) { load_keys(p, of); }
};

HWY_INLINE VF load_scales(const std::uint32_t* p) {
  return hn::BitCast(kF, hn::LoadU(kU, p));
}

// The scales of group `group` of the keys of tokens whose words of scales begin at p.
HWY_INLINE VF load_key_scales(const std::uint32_t* p, std::size_t group) {
  const VU pairs = hn::LoadU(kU, p + group / 2 * kBlock);
  return hn::BitCast(
      kF, group % 2 == 0 ? hn::ShiftLeft<16>(pairs) : hn::And(pairs, hn::Set(kU, 0xffff0000u)));
}

// Codes widen to f32; scales multiply the sums of their keys' groups, and their values' weights.
struct MultiplyQ8 : MultiplyF32 {
  static constexpr std::size_t kPerWord = 4, kOperands = 4;
  static constexpr std::size_t kGroupWords = kKeyScaleDims / kPerWord;
  static constexpr std::size_t head_words(std::size_t head_dim) {
    return kBlock * q8_scale_words(head_dim);
  }
  static HWY_INLINE void widen(VU quads, VF (&of)[4]) {
    const VI codes = hn::BitCast(kI, quads);
    of[0] = hn::ConvertTo(kF, hn::ShiftRight<24>(hn::ShiftLeft<24>(codes)));
    of[1] = hn::ConvertTo(kF, hn::ShiftRight<24>(hn::ShiftLeft<16>(codes)));
    of[2] = hn::ConvertTo(kF, hn::ShiftRight<24>(hn::ShiftLeft<8>(codes)));
    of[3] = hn::ConvertTo(kF, hn::ShiftRight<24>(codes));
  }
  static HWY_INLINE void load_keys(const std::uint32_t* p, VF (&of)[4]) {
    widen(hn::Xor(hn::LoadU(kU, p), hn::Set(kU, 0x80808080u)), of);  // less 128
  }
  static HWY_INLINE void load_values(const std::uint32_t* p, VF (&of)[4]) {
    widen(hn::LoadU(kU, p), of);
  }
  template <std::size_t kR>
  static HWY_INLINE VF score(VF sum, VF scales, const float*, std::size_t) {
    return hn::Mul(sum, scales);
  }
  static HWY_INLINE VF store_weights(float* row, std::size_t n, VF shift,
                                     const std::uint32_t* values, std::size_t block_words) {
    VF sum = hn::Zero(kF);
    for (std::size_t b = 0; b < n; ++b, row += kBlock, values += block_words)
      for (std::size_t i = 0; i < kBlock; i += kN) {
        const VF weight = exp_negative(hn::Sub(load_f32(row + i), shift));
        hn::StoreU(hn::Mul(weight, load_scales(values + i)), kF, row + i);
        sum = hn::Add(sum, weight);
      }
    return sum;
  }
};

// What the multipliers by dot products share: operands and factors are whole words.
struct MultiplyWords : MultiplyF32 {
  static constexpr std::size_t kOperands = 1;
  using Operand = VU;
  static HWY_INLINE void load_keys(const std::uint32_t* p, VU (&of)[1]) {
    of[0] = hn::LoadU(kU, p);
  }
  static HWY_INLINE void load_values(const std::uint32_t* p, VU (&of)[1]) { load_keys(p, of); }
  static HWY_INLINE VU broadcast(const float* p) {
    std::uint32_t word;
    __builtin_memcpy(&word, p, sizeof word);
    return hn::Set(kU, word);
  }
};

// Queries and weights are rounded to bf16 too, to nearest even; sums stay f32. Dot has
//   add(sum, a, b)  sum + the products of both elements of each pair
//   round(x)        a vector of f32 -> bf16 to nearest even
// The rounded weights are what is summed, so that they add up to one.
template <class Dot>
struct MultiplyPairs : MultiplyWords {
  static constexpr std::size_t kPerWord = 2, kFactors = kBlock / 2;
  static HWY_INLINE VF multiply_add(VU factor, VU operand, VF sum) {
    return Dot::add(sum, factor, operand);
  }
  template <std::size_t kR>
  static HWY_INLINE void store_queries(const float* q, std::size_t head_dim, float* to) {
    alignas(64) std::uint16_t rounded[kN];
    for (std::size_t r = 0; r < kR; ++r)
      for (std::size_t d = 0; d < head_dim; d += kN) {
        hn::StoreU(Dot::round(load_f32(q + r * head_dim + d)), k16, rounded);
        for (std::size_t i = 0; i < kN / 2; ++i)
          __builtin_memcpy(to + (d / 2 + i) * kR + r, rounded + 2 * i, 4);
      }
  }
  static HWY_INLINE VF store_weights(float* row, std::size_t n, VF shift, const std::uint32_t*,
                                     std::size_t) {
    VF sum = hn::Zero(kF);
    auto* to = reinterpret_cast<std::uint16_t*>(row);
    for (std::size_t t = 0; t < n * kBlock; t += kN) {
      const V16 rounded = Dot::round(exp_coarse(hn::Sub(load_f32(row + t), shift)));
      hn::StoreU(rounded, k16, to + t);
      sum = hn::Add(sum, hn::BitCast(kF, hn::ShiftLeft<16>(hn::PromoteTo(kU, rounded))));
    }
    return sum;
  }
};

#if HWY_TARGET == HWY_AVX3
// AVX512_BF16 by its mnemonics: Highway 1.0 has no such target, and instructions
// that the assembler knows ask nothing of the function they are in.
struct DotAvx512 {
  static HWY_INLINE VF add(VF sum, VU a, VU b) {
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
    return sum;
  }
  static HWY_INLINE V16 round(VF x) {
    V16 half;
    asm("vcvtneps2bf16 %1, %0" : "=v"(half.raw) : "v"(x.raw));
    return half;
  }
};
#elif HWY_ARCH_ARM_A64
// Armv8.6's. Where the compiler does not take the CPU to have them, .arch lets the
// assembler know them. Each pair's products are added before they are rounded (to odd),
// then added to the sum.
struct DotNeonBf16 {
  static HWY_INLINE VF add(VF sum, VU a, VU b) {
#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
    return VF(vbfdotq_f32(sum.raw, vreinterpretq_bf16_u32(a.raw), vreinterpretq_bf16_u32(b.raw)));
#else
    asm(".arch armv8.6-a+crypto\n\tbfdot %0.4s, %1.8h, %2.8h"
        : "+w"(sum.raw)
        : "w"(a.raw), "w"(b.raw));
    return sum;
#endif
  }
  static HWY_INLINE V16 round(VF x) {
#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
    return V16(vreinterpret_u16_bf16(vcvt_bf16_f32(x.raw)));
#else
    V16 half;
    asm(".arch armv8.6-a+crypto\n\tbfcvtn %0.4h, %1.4s" : "=w"(half.raw) : "w"(x.raw));
    return half;
#endif
  }
};
#endif

}  // namespace
}  // namespace pc::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
