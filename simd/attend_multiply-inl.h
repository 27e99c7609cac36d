// What multiplies in attention: f32, bf16 widened to f32, or pairs of bf16 by a
// dot product. A packed word of 32 bits holds one element or a pair of them.
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

// Each has:
//   kPerWord   elements a packed word; kOperands multiplications for them
//   load       the operands (of type Operand) of a vector of words
//   broadcast  the factor of one of them; stored as a float, whatever it means
//   store_queries  [kR][head_dim] -> factors [head_dim / kPerWord * kOperands][kR]
//   exp        of a score less the largest: a weight
//   store_weights  a vector of weights -> factors; returns the weights it multiplies by
struct MultiplyF32 {
  static constexpr std::size_t kPerWord = 1, kOperands = 1;
  using Operand = VF;
  static HWY_INLINE void load(const std::uint32_t* p, VF (&of)[1]) {
    of[0] = hn::BitCast(kF, hn::LoadU(kU, p));
  }
  static HWY_INLINE VF broadcast(const float* p) { return hn::Set(kF, *p); }
  static HWY_INLINE VF multiply_add(VF factor, VF operand, VF sum) {
    return hn::MulAdd(factor, operand, sum);
  }
  template <std::size_t kR>
  static HWY_INLINE void store_queries(const float* q, std::size_t head_dim, float* to) {
    for (std::size_t d = 0; d < head_dim; ++d)
      for (std::size_t r = 0; r < kR; ++r) *to++ = q[r * head_dim + d];
  }
  static HWY_INLINE VF exp(VF x) { return exp_negative(x); }
  static HWY_INLINE VF store_weights(VF weights, float* to) {
    hn::StoreU(weights, kF, to);
    return weights;
  }
};

// The low half of a word is shifted up, the high half already is an f32 once
// the low bits are cleared.
struct MultiplyBf16 : MultiplyF32 {
  static constexpr std::size_t kPerWord = 2, kOperands = 2;
  static HWY_INLINE void load(const std::uint32_t* p, VF (&of)[2]) {
    const VU pairs = hn::LoadU(kU, p);
    of[0] = hn::BitCast(kF, hn::ShiftLeft<16>(pairs));
    of[1] = hn::BitCast(kF, hn::And(pairs, hn::Set(kU, 0xffff0000u)));
  }
};

// Queries and weights are rounded to bf16 too, to nearest even; sums stay f32. Dot has
//   add(sum, a, b)  sum + the products of both elements of each pair
//   round(x)        a vector of f32 -> bf16 to nearest even
// The rounded weights are what is summed, so that they add up to one.
template <class Dot>
struct MultiplyPairs {
  static constexpr std::size_t kPerWord = 2, kOperands = 1;
  using Operand = VU;
  static HWY_INLINE void load(const std::uint32_t* p, VU (&of)[1]) { of[0] = hn::LoadU(kU, p); }
  static HWY_INLINE VU broadcast(const float* p) {
    std::uint32_t pair;
    __builtin_memcpy(&pair, p, sizeof pair);
    return hn::Set(kU, pair);
  }
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
  static HWY_INLINE VF exp(VF x) { return exp_coarse(x); }
  static HWY_INLINE VF store_weights(VF weights, float* to) {
    const V16 rounded = Dot::round(weights);
    hn::StoreU(rounded, k16, reinterpret_cast<std::uint16_t*>(to));
    return hn::BitCast(kF, hn::ShiftLeft<16>(hn::PromoteTo(kU, rounded)));
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
#endif

}  // namespace
}  // namespace pc::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
