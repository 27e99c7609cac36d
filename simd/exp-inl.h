// exp of what is not positive: the softmax's weights, and the logistic function's tail.
// Per target: included again for each instruction set (see hwy_kernels.cc).
#if defined(PROMPTCACHE_SIMD_EXP_) == defined(HWY_TARGET_TOGGLE)
#ifdef PROMPTCACHE_SIMD_EXP_
#undef PROMPTCACHE_SIMD_EXP_
#else
#define PROMPTCACHE_SIMD_EXP_
#endif

#include <hwy/highway.h>

#include "simd/elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pc::simd::HWY_NAMESPACE {
namespace {

// Its last bit is worth 1, so that adding it rounds, and the low bits of n + kMagic
// are the biased exponent of 2^n.
inline constexpr float kMagic = 0x1.8p23f + 127.0f;

// y * 2^n where shifted = n + kMagic; 0 where x, the argument, is below -87; NaN where it is.
HWY_INLINE VF scale_exp(VF x, VF y, VF shifted) {
  const VF power = hn::BitCast(kF, hn::ShiftLeft<23>(hn::BitCast(kU, shifted)));
  return hn::IfThenElse(hn::Lt(x, hn::Set(kF, -87.0f)), hn::Zero(kF), hn::Mul(y, power));
}

// exp(x) = p * 2^n, where shifted = n + kMagic + up. The powers of f are a least maximum
// fit over |f| <= ln(2)/2 (3e-9 relative), the rest is rounding.
struct ExpParts {
  VF p, shifted;
};
HWY_INLINE ExpParts exp_parts(VF x, float up) {
  const VF magic = hn::Set(kF, kMagic + up);
  const VF shifted = hn::MulAdd(x, hn::Set(kF, 0x1.715476p+0f), magic);
  const VF n = hn::Sub(shifted, magic);
  VF f = hn::NegMulAdd(n, hn::Set(kF, 0x1.62e4p-1f), x);  // ln 2 in two parts
  f = hn::NegMulAdd(n, hn::Set(kF, 0x1.7f7d1cp-20f), f);
  VF p = hn::Set(kF, 0.0013814599f);
  for (const float c : {0.008368717f, 0.04166839f, 0.16666521f, 0.49999994f, 1.0f, 1.0f})
    p = hn::MulAdd(p, f, hn::Set(kF, c));
  return {p, shifted};
}

// exp(x) for x <= 0, within 2 ulp; 0 below -87.
HWY_INLINE VF exp_negative(VF x) {
  const ExpParts e = exp_parts(x, 0.0f);
  return scale_exp(x, e.p, e.shifted);
}

// exp(x) * 2^64 for x <= 0, within 2 ulp, so that a product with it underflows only
// where 2^-64 scales it back; 0 below -110, of which the product with 110 is less than half
// of the least float, 2^-150, and where x is not a number.
inline constexpr float kScaleBack = 0x1p-64f;
HWY_INLINE VF exp_scaled_up(VF x) {
  const ExpParts e = exp_parts(x, 64.0f);
  const VF power = hn::BitCast(kF, hn::ShiftLeft<23>(hn::BitCast(kU, e.shifted)));
  return hn::IfThenElseZero(hn::Ge(x, hn::Set(kF, -110.0f)), hn::Mul(e.p, power));
}

// The same within 1e-4 relative, of which the polynomial's are 7.5e-5 (a least
// maximum fit of 2^f over |f| <= 1/2) and the rest |x| 2^-23: for weights that are
// rounded to 8 bits, of bf16 to 2e-3 or of integers. It takes 5 multiplications instead of 9.
HWY_INLINE VF exp_coarse(VF x) {
  const VF log2_e = hn::Set(kF, 0x1.715476p+0f);
  const VF shifted = hn::MulAdd(x, log2_e, hn::Set(kF, kMagic));
  const VF f = hn::MulSub(x, log2_e, hn::Sub(shifted, hn::Set(kF, kMagic)));
  VF p = hn::Set(kF, 0.05517167f);
  for (const float c : {0.24261113f, 0.69326097f, 0.99992806f})
    p = hn::MulAdd(p, f, hn::Set(kF, c));
  return scale_exp(x, p, shifted);
}

}  // namespace
}  // namespace pc::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
