// Vectors of f32 and the stored element types that widen to them.
// Per target: included again for each instruction set (see hwy_kernels.cc).
#if defined(PROMPTCACHE_SIMD_ELEMENTS_) == defined(HWY_TARGET_TOGGLE)
#ifdef PROMPTCACHE_SIMD_ELEMENTS_
#undef PROMPTCACHE_SIMD_ELEMENTS_
#else
#define PROMPTCACHE_SIMD_ELEMENTS_
#endif

#include <hwy/highway.h>

#include "simd/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace pc::simd::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::CappedTag<float, 16>;  // at most one block of tokens
using DU = hn::RebindToUnsigned<DF>;
using DI = hn::RebindToSigned<DF>;
using VF = hn::Vec<DF>;
using VI = hn::Vec<DI>;
constexpr DF kF;
constexpr DU kU;
constexpr DI kI;
constexpr std::size_t kN = hn::MaxLanes(DF());
constexpr std::size_t kBlock = 16;           // tokens a packed block: modules/kv.h
constexpr std::size_t kParts = kBlock / kN;  // vectors a block of tokens

HWY_INLINE VF load_f32(const float* p) {
  return hn::LoadU(kF, p);
}
using V16 = hn::Vec<hn::Rebind<std::uint16_t, DF>>;
#if HWY_ARCH_X86 && \
    HWY_TARGET >= HWY_SSE4  // no F16C, and Highway's stand-in maps infinities to numbers
HWY_INLINE VF widen_f16(V16 bits) {
  const auto half = hn::PromoteTo(kU, bits);
  const auto magnitude = hn::ShiftLeft<13>(hn::And(half, hn::Set(kU, 0x7fffu)));
  // Exponents differ by 127 - 15: one exact product rights them, subnormals too.
  const VF scaled = hn::Mul(hn::BitCast(kF, magnitude), hn::Set(kF, 0x1p112f));
  const auto special = hn::Gt(hn::BitCast(kF, magnitude), hn::Set(kF, 0x1.ffcp-97f));
  const VF finite_or_not =
      hn::IfThenElse(special, hn::BitCast(kF, hn::Or(magnitude, hn::Set(kU, 0x7f800000u))), scaled);
  const auto sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(kU, 0x8000u)));
  return hn::Or(finite_or_not, hn::BitCast(kF, sign));
}
#else
HWY_INLINE VF widen_f16(V16 bits) {
  return hn::PromoteTo(kF, hn::BitCast(hn::Rebind<hwy::float16_t, DF>(), bits));
}
#endif
HWY_INLINE VF load_f16(const std::uint16_t* p) {
  return widen_f16(hn::LoadU(hn::Rebind<std::uint16_t, DF>(), p));
}
HWY_INLINE VF load_bf16(const std::uint16_t* p) {
  const hn::Rebind<std::uint16_t, DF> d16;
  return hn::BitCast(kF, hn::ShiftLeft<16>(hn::PromoteTo(kU, hn::LoadU(d16, p))));
}

struct F32 {
  using T = float;
  static HWY_INLINE VF load(const T* p) { return load_f32(p); }
};
struct F16 {
  using T = std::uint16_t;
  static HWY_INLINE VF load(const T* p) { return load_f16(p); }
};
struct Bf16 {
  using T = std::uint16_t;
  static HWY_INLINE VF load(const T* p) { return load_bf16(p); }
};

// All lanes of each of four vectors folded into one, by an operation that is associative
// and commutative to the last bit. folded: [4], of a, b, c and d.
#if HWY_TARGET != HWY_SCALAR
template <class Op, class V, class T>
HWY_INLINE void fold_four(V a, V b, V c, V d, T* folded) {
  const hn::DFromV<V> all;
  const hn::Repartition<std::uint64_t, decltype(all)> k64;
  const auto fold = [&](V x, V y) HWY_ATTR {
    return Op::of(hn::InterleaveLower(all, x, y), hn::InterleaveUpper(all, x, y));
  };
  // In each 128 bits: a b a b, c d c d.
  const auto ab = hn::BitCast(k64, fold(a, b)), cd = hn::BitCast(k64, fold(c, d));
  alignas(64) T abcd[kN];
  hn::StoreU(Op::of(hn::BitCast(all, hn::InterleaveLower(k64, ab, cd)),
                    hn::BitCast(all, hn::InterleaveUpper(k64, ab, cd))),
             all, abcd);
  const hn::CappedTag<T, 4> four;
  auto of_all = hn::LoadU(four, abcd);
  for (std::size_t i = 4; i < kN; i += 4) of_all = Op::of(of_all, hn::LoadU(four, abcd + i));
  hn::StoreU(of_all, four, folded);
}
#endif
struct Sum {
  template <class V>
  static HWY_INLINE V of(V x, V y) {
    return hn::Add(x, y);
  }
};
struct Largest {
  template <class V>
  static HWY_INLINE V of(V x, V y) {
    return hn::Max(x, y);
  }
};

// The last n < kN elements, the rest zero.
template <class E>
HWY_INLINE VF load_tail(const typename E::T* p, std::size_t n) {
  typename E::T padded[kN] = {};
  for (std::size_t i = 0; i < n; ++i) padded[i] = p[i];
  return E::load(padded);
}

}  // namespace
}  // namespace pc::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
