// Norms of a row.
// Per target: included again for each instruction set (see hwy_kernels.cc).
#if defined(PROMPTCACHE_SIMD_NORM_) == defined(HWY_TARGET_TOGGLE)
#ifdef PROMPTCACHE_SIMD_NORM_
#undef PROMPTCACHE_SIMD_NORM_
#else
#define PROMPTCACHE_SIMD_NORM_
#endif

#include "simd/elements-inl.h"
#include "simd/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace pc::simd::HWY_NAMESPACE {
namespace {

// Below this a sum of squares may have lost some that were too small for a float, and
// the reciprocal of its root may be none. 2^20 squares that are lost, each less
// than 2^-149, are less than 2^-24 of it.
constexpr float kLeastSquares = 0x1p-100f;

// Overflow and underflow of squares: the row is computed again in double precision.
HWY_INLINE bool squares_fit(float sum) {
  return sum >= kLeastSquares && sum < __builtin_inff();
}

void rms_norm(const float* x, const float* weight, std::size_t n, float eps, float* y) {
  VF sum0 = hn::Zero(kF), sum1 = hn::Zero(kF);
  std::size_t i = 0;
  for (; i + 2 * kN <= n; i += 2 * kN) {
    const VF a = load_f32(x + i), b = load_f32(x + i + kN);
    sum0 = hn::MulAdd(a, a, sum0);
    sum1 = hn::MulAdd(b, b, sum1);
  }
  float sum = hn::GetLane(hn::SumOfLanes(kF, hn::Add(sum0, sum1)));
  for (; i < n; ++i) sum += x[i] * x[i];
  if (!squares_fit(sum)) return kScalarKernels.rms_norm(x, weight, n, eps, y);
  const float scale = 1.0f / __builtin_sqrtf(sum / static_cast<float>(n) + eps);
  const VF factor = hn::Set(kF, scale);
  for (i = 0; i + kN <= n; i += kN)
    hn::StoreU(hn::Mul(hn::Mul(load_f32(x + i), factor), load_f32(weight + i)), kF, y + i);
  for (; i < n; ++i) y[i] = x[i] * scale * weight[i];
}

// Differences from a mean that is off by roundings of the sum are nearly exact, and their
// own mean says by how much it is off.
void layer_norm(const float* x, const float* weight, const float* bias, std::size_t n, float eps,
                float* y) {
  VF sums = hn::Zero(kF);
  std::size_t i = 0;
  for (; i + kN <= n; i += kN) sums = hn::Add(sums, load_f32(x + i));
  float sum = hn::GetLane(hn::SumOfLanes(kF, sums));
  for (; i < n; ++i) sum += x[i];
  const float count = static_cast<float>(n), guess = sum / count;
  VF squares = hn::Zero(kF), rests = hn::Zero(kF);
  const VF center = hn::Set(kF, guess);
  for (i = 0; i + kN <= n; i += kN) {
    const VF d = hn::Sub(load_f32(x + i), center);
    rests = hn::Add(rests, d);
    squares = hn::MulAdd(d, d, squares);
  }
  float square = hn::GetLane(hn::SumOfLanes(kF, squares));
  float rest = hn::GetLane(hn::SumOfLanes(kF, rests));
  for (; i < n; ++i) {
    const float d = x[i] - guess;
    rest += d;
    square += d * d;
  }
  rest /= count;
  const float variance = square / count - rest * rest;
  // What is left of the squares must be theirs, not their roundings'.
  if (!squares_fit(square) || !(variance >= 0.5f * square / count))
    return kScalarKernels.layer_norm(x, weight, bias, n, eps, y);
  const float scale = 1.0f / __builtin_sqrtf(variance + eps);
  const VF factor = hn::Set(kF, scale), correction = hn::Set(kF, rest);
  for (i = 0; i + kN <= n; i += kN) {
    const VF d = hn::Sub(hn::Sub(load_f32(x + i), center), correction);
    const VF scaled = hn::Mul(hn::Mul(d, factor), load_f32(weight + i));
    hn::StoreU(bias ? hn::Add(scaled, load_f32(bias + i)) : scaled, kF, y + i);
  }
  for (; i < n; ++i) y[i] = (x[i] - guess - rest) * scale * weight[i] + (bias ? bias[i] : 0.0f);
}

}  // namespace
}  // namespace pc::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
