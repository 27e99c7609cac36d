// What a feed-forward layer does to its gate. The errors that simd/kernels.h states are summed
// up from the roundings, u = 2^-24 each, without fused multiply-add.
// Per target: included again for each instruction set (see hwy_kernels.cc).
#if defined(PROMPTCACHE_SIMD_ACTIVATE_) == defined(HWY_TARGET_TOGGLE)
#ifdef PROMPTCACHE_SIMD_ACTIVATE_
#undef PROMPTCACHE_SIMD_ACTIVATE_
#else
#define PROMPTCACHE_SIMD_ACTIVATE_
#endif

#include "simd/elements-inl.h"
#include "simd/exp-inl.h"
#include "simd/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace pc::simd::HWY_NAMESPACE {
namespace {

// x / (1 + exp(-a)), which is x times the logistic function of a; |x| <= |a| where a is
// less than -1. Only exp of what is not positive is taken, so that nothing overflows.
HWY_INLINE VF times_logistic(VF x, VF a) {
  const VF back = hn::Set(kF, kScaleBack);
  const VF tail = exp_scaled_up(hn::Neg(hn::Abs(a)));
  const VF negative = hn::Mul(hn::Mul(x, tail), back);
  const VF factor = hn::IfThenElse(hn::Lt(a, hn::Zero(kF)), negative, x);
  return hn::Div(factor, hn::MulAdd(tail, back, hn::Set(kF, 1.0f)));
}

// What multiplies the result, where the activation takes it as it is.
struct PlainFactor {
  static HWY_INLINE VF factor(VF up) { return up; }
};

struct Silu : PlainFactor {
  static HWY_INLINE VF of(VF x) { return times_logistic(x, x); }
};
// x Phi(x): where x is positive x - x Phi(-x), so that only tails are computed. Phi(-m) =
// exp(-m^2 / 2) g(t) with t = 1 / (1 + 0.38 m / sqrt 2); g / t is a least maximum fit
// of degree 8 over m <= 14.8 (2.0e-8 relative), where exp(-m^2 / 2) ends.
struct Gelu : PlainFactor {
  static HWY_INLINE VF of(VF x) {
    const VF one = hn::Set(kF, 1.0f), back = hn::Set(kF, kScaleBack), m = hn::Abs(x);
    const VF tail = exp_scaled_up(hn::Mul(hn::Mul(m, hn::Set(kF, -0.5f)), m));
    const VF t = hn::Div(one, hn::MulAdd(hn::Set(kF, 0.26870057f), m, one));
    VF g = hn::Set(kF, 0.029508373f);
    for (const float c : {-0.13126643f, 0.18220177f, -0.08105407f, 0.1152482f, 0.06921888f,
                          0.10198219f, 0.106955327f, 0.107205756f})
      g = hn::MulAdd(g, t, hn::Set(kF, c));
    g = hn::Mul(g, t);
    const VF negative = hn::Mul(hn::Mul(hn::Mul(x, tail), g), back);
    const VF positive = hn::Mul(x, hn::NegMulAdd(hn::Mul(tail, back), g, one));
    return hn::IfThenElse(hn::Lt(x, hn::Zero(kF)), negative, positive);
  }
};
struct GeluTanh : PlainFactor {  // 1 + tanh(u) = 2 / (1 + exp(-2u))
  static HWY_INLINE VF of(VF x) {
    const VF cubic = hn::MulAdd(hn::Mul(x, x), hn::Set(kF, 0.044715f), hn::Set(kF, 1.0f));
    return times_logistic(x,
                          hn::Mul(hn::Mul(x, cubic), hn::Set(kF, 1.5957691216f)));  // 2 sqrt(2/pi)
  }
};

struct ClampedSwiglu {
  // Comparisons, so that NaN stays what it is.
  static HWY_INLINE VF at_most(VF x, VF limit) {
    return hn::IfThenElse(hn::Gt(x, limit), limit, x);
  }
  static HWY_INLINE VF of(VF x) {
    const VF cut = at_most(x, hn::Set(kF, kSwigluLimit));
    return times_logistic(cut, hn::Mul(cut, hn::Set(kF, kSwigluAlpha)));
  }
  static HWY_INLINE VF factor(VF up) {
    const VF limit = hn::Set(kF, kSwigluLimit), least = hn::Neg(limit);
    const VF high = at_most(up, limit);
    return hn::Add(hn::IfThenElse(hn::Lt(high, least), least, high), hn::Set(kF, 1.0f));
  }
};

struct Logistic : PlainFactor {
  static HWY_INLINE VF of(VF x) {
    return hn::IfThenElse(hn::IsNaN(x), x, times_logistic(hn::Set(kF, 1.0f), x));
  }
};

// A comparison, so that NaN stays what it is.
struct ReluSquared : PlainFactor {
  static HWY_INLINE VF of(VF x) {
    const VF positive = hn::IfThenElse(hn::Lt(x, hn::Zero(kF)), hn::Zero(kF), x);
    return hn::Mul(positive, positive);
  }
};

template <class A>
HWY_INLINE void activate_all(float* x, const float* up, std::size_t n) {
  std::size_t i = 0;
  for (; i + kN <= n; i += kN) {
    const VF y = A::of(load_f32(x + i));
    hn::StoreU(up ? hn::Mul(y, A::factor(load_f32(up + i))) : y, kF, x + i);
  }
  if (const std::size_t rest = n - i; rest != 0) {
    alignas(64) float padded[kN];
    const VF y = A::of(load_tail<F32>(x + i, rest));
    hn::Store(up ? hn::Mul(y, A::factor(load_tail<F32>(up + i, rest))) : y, kF, padded);
    for (std::size_t j = 0; j < rest; ++j) x[i + j] = padded[j];
  }
}

void activate(Activation activation, float* x, const float* up, std::size_t n) {
  switch (activation) {
    case Activation::kSilu:
      return activate_all<Silu>(x, up, n);
    case Activation::kGelu:
      return activate_all<Gelu>(x, up, n);
    case Activation::kGeluTanh:
      return activate_all<GeluTanh>(x, up, n);
    case Activation::kClampedSwiglu:
      return activate_all<ClampedSwiglu>(x, up, n);
    case Activation::kLogistic:
      return activate_all<Logistic>(x, up, n);
    case Activation::kReluSquared:
      return activate_all<ReluSquared>(x, up, n);
  }
}

}  // namespace
}  // namespace pc::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
