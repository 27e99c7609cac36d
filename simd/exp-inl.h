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

// Added to a float it rounds the sum to a whole number, because the last bit of a float
// of this size is worth 1. And as it ends with the bias of exponents, 127, the low bits of
// n + kMagic are the exponent field of the float 2^n.
inline constexpr float kMagic = 0x1.8p23f + 127.0f;

// y * 2^n, for shifted = n + kMagic. x is the argument of the exponential: where x is below
// -87 the result is 0, where x is NaN it is NaN.
HWY_INLINE VF scale_exp(VF x, VF y, VF shifted) {
  const VF power = hn::BitCast(kF, hn::ShiftLeft<23>(hn::BitCast(kU, shifted)));
  return hn::IfThenElse(hn::Lt(x, hn::Set(kF, -87.0f)), hn::Zero(kF), hn::Mul(y, power));
}

// exp(x) = p * 2^n, for shifted = n + kMagic + up. p is a polynomial of f = x - n ln(2),
// whose coefficients make its largest relative error over |f| <= ln(2)/2 least: 3e-9, so
// that rounding makes up the rest of the error.
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

// exp(x) * 2^64 for x <= 0, within 2 ulp. A product with it does not underflow before it is
// multiplied by kScaleBack. The result is 0 where x is NaN, and below -110: there even
// 110 exp(x) is less than 2^-150, half of the least float.
inline constexpr float kScaleBack = 0x1p-64f;
HWY_INLINE VF exp_scaled_up(VF x) {
  const ExpParts e = exp_parts(x, 64.0f);
  const VF power = hn::BitCast(kF, hn::ShiftLeft<23>(hn::BitCast(kU, e.shifted)));
  return hn::IfThenElseZero(hn::Ge(x, hn::Set(kF, -110.0f)), hn::Mul(e.p, power));
}

// exp(x) for x <= 0, within 1e-4 relative, with 5 multiplications instead of 9; 0 below -87.
// It serves weights that are rounded to 8 bits afterwards, to bf16 (2e-3) or to integers.
// The polynomial's share of the error is 7.5e-5 (its coefficients make the largest error of
// 2^f over |f| <= 1/2 least), the rest is |x| 2^-23.
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
