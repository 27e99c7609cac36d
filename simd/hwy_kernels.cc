// The vectorised kernels: one source, compiled by Highway for each
// instruction set (foreach_target re-includes this file per target).
//
// Home of Highway. Everything here has internal linkage per target namespace;
// nothing from the standard library's containers or algorithms is used, so no
// weak symbol with wide instructions can reach the rest of the program.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/hwy_kernels.cc"
// SSE4, AVX2 and AVX-512 cover the x86 machines in use; the step between the
// baseline and SSE4 would only make the library larger. The kernels keep vectors
// in arrays, which SVE's cannot be: all of 64-bit Arm runs NEON, which is its
// baseline. (Left to choose, Highway would ask for AES, which a Raspberry Pi 4 lacks.)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#if defined(__aarch64__)
#define HWY_COMPILE_ONLY_STATIC
#endif
// foreach_target.h comes first.
// clang-format off
#include <hwy/foreach_target.h>

#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

#include "simd/attend-inl.h"
#include "simd/attend_tiles-inl.h"
#include "simd/elements-inl.h"
#include "simd/exp-inl.h"
#include "simd/kernels.h"
#include "simd/matmul-inl.h"
#include "simd/packed_kernels.h"
#include "simd/quant-inl.h"
#include "simd/quantise-inl.h"
#if HWY_ARCH_X86
#include "simd/amx_tiles.h"
#endif

HWY_BEFORE_NAMESPACE();
namespace pc::simd::HWY_NAMESPACE {
namespace {

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
  const float scale = 1.0f / __builtin_sqrtf(sum / static_cast<float>(n) + eps);
  const VF factor = hn::Set(kF, scale);
  for (i = 0; i + kN <= n; i += kN)
    hn::StoreU(hn::Mul(hn::Mul(load_f32(x + i), factor), load_f32(weight + i)), kF, y + i);
  for (; i < n; ++i) y[i] = x[i] * scale * weight[i];
}

void rotate(const float* x, const float* cos, const float* sin, std::size_t half, float scale,
            float* y) {
  const VF factor = hn::Set(kF, scale);
  std::size_t i = 0;
  for (; i + kN <= half; i += kN) {
    const VF a = load_f32(x + i), b = load_f32(x + i + half);
    const VF c = load_f32(cos + i), s = load_f32(sin + i);
    hn::StoreU(hn::Mul(hn::NegMulAdd(b, s, hn::Mul(a, c)), factor), kF, y + i);
    hn::StoreU(hn::Mul(hn::MulAdd(a, s, hn::Mul(b, c)), factor), kF, y + i + half);
  }
  for (; i < half; ++i) {
    const float a = x[i], b = x[i + half];
    y[i] = (a * cos[i] - b * sin[i]) * scale;
    y[i + half] = (b * cos[i] + a * sin[i]) * scale;
  }
}

void layer_norm(const float* x, const float* weight, const float* bias, std::size_t n, float eps,
                float* y) {
  VF sums = hn::Zero(kF);
  std::size_t i = 0;
  for (; i + kN <= n; i += kN) sums = hn::Add(sums, load_f32(x + i));
  float sum = hn::GetLane(hn::SumOfLanes(kF, sums));
  for (; i < n; ++i) sum += x[i];
  const float mean = sum / static_cast<float>(n);
  // Squares of differences, not difference of squares: no cancellation.
  VF squares = hn::Zero(kF);
  const VF center = hn::Set(kF, mean);
  for (i = 0; i + kN <= n; i += kN) {
    const VF d = hn::Sub(load_f32(x + i), center);
    squares = hn::MulAdd(d, d, squares);
  }
  float square = hn::GetLane(hn::SumOfLanes(kF, squares));
  for (; i < n; ++i) square += (x[i] - mean) * (x[i] - mean);
  const float scale = 1.0f / __builtin_sqrtf(square / static_cast<float>(n) + eps);
  const VF factor = hn::Set(kF, scale);
  for (i = 0; i + kN <= n; i += kN) {
    const VF scaled =
        hn::Mul(hn::Mul(hn::Sub(load_f32(x + i), center), factor), load_f32(weight + i));
    hn::StoreU(bias ? hn::Add(scaled, load_f32(bias + i)) : scaled, kF, y + i);
  }
  for (; i < n; ++i) y[i] = (x[i] - mean) * scale * weight[i] + (bias ? bias[i] : 0.0f);
}

// x / (1 + exp(-a)), which is x times the logistic function of a; |x| <= |a| where a is
// less than -1. Only exp of what is not positive is taken, so that nothing overflows.
HWY_INLINE VF times_logistic(VF x, VF a) {
  const VF back = hn::Set(kF, kScaleBack);
  const VF tail = exp_scaled_up(hn::Neg(hn::Abs(a)));
  const VF negative = hn::Mul(hn::Mul(x, tail), back);
  const VF factor = hn::IfThenElse(hn::Lt(a, hn::Zero(kF)), negative, x);
  return hn::Div(factor, hn::MulAdd(tail, back, hn::Set(kF, 1.0f)));
}

// erf to 1.5e-7: Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26.
HWY_INLINE VF erf(VF x) {
  const VF one = hn::Set(kF, 1.0f), magnitude = hn::Abs(x);
  const VF t = hn::Div(one, hn::MulAdd(hn::Set(kF, 0.3275911f), magnitude, one));
  VF poly = hn::Set(kF, 1.061405429f);
  for (const float c : {-1.453152027f, 1.421413741f, -0.284496736f, 0.254829592f})
    poly = hn::MulAdd(poly, t, hn::Set(kF, c));
  const VF tail = hn::Exp(kF, hn::Neg(hn::Mul(magnitude, magnitude)));
  return hn::CopySign(hn::NegMulAdd(hn::Mul(poly, t), tail, one), x);
}

struct Silu {
  static HWY_INLINE VF of(VF x) { return times_logistic(x, x); }
};
struct Gelu {
  static HWY_INLINE VF of(VF x) {
    const VF half = hn::Mul(x, hn::Set(kF, 0.5f));
    return hn::MulAdd(half, erf(hn::Mul(x, hn::Set(kF, 0x1.6a09e6p-1f))), half);  // x / sqrt(2)
  }
};
struct GeluTanh {  // 1 + tanh(u) = 2 / (1 + exp(-2u))
  static HWY_INLINE VF of(VF x) {
    const VF cubic = hn::MulAdd(hn::Mul(x, x), hn::Set(kF, 0.044715f), hn::Set(kF, 1.0f));
    return times_logistic(x,
                          hn::Mul(hn::Mul(x, cubic), hn::Set(kF, 1.5957691216f)));  // 2 sqrt(2/pi)
  }
};

template <class A>
HWY_INLINE void activate_all(float* x, const float* up, std::size_t n) {
  std::size_t i = 0;
  for (; i + kN <= n; i += kN) {
    const VF y = A::of(load_f32(x + i));
    hn::StoreU(up ? hn::Mul(y, load_f32(up + i)) : y, kF, x + i);
  }
  if (const std::size_t rest = n - i; rest != 0) {
    alignas(64) float padded[kN];
    hn::Store(A::of(load_tail<F32>(x + i, rest)), kF, padded);
    for (std::size_t j = 0; j < rest; ++j) x[i + j] = up ? padded[j] * up[i + j] : padded[j];
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
  }
}

void add(const float* x, float scale, std::size_t n, float* y) {
  const VF factor = hn::Set(kF, scale);
  std::size_t i = 0;
  for (; i + kN <= n; i += kN)
    hn::StoreU(hn::MulAdd(factor, load_f32(x + i), load_f32(y + i)), kF, y + i);
  for (; i < n; ++i) y[i] += scale * x[i];
}

void to_bf16(const float* src, std::size_t n, std::uint16_t* dst) {
  const hn::Rebind<std::uint16_t, DF> d16;
  std::size_t i = 0;
  for (; i + kN <= n; i += kN) {
    const VF x = load_f32(src + i);
    const auto bits = hn::BitCast(kU, x);
    const auto high = hn::ShiftRight<16>(bits);
    const auto odd = hn::And(high, hn::Set(kU, 1u));
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(kU, 0x7fffu))));
    const auto nan = hn::Or(high, hn::Set(kU, 0x40u));
    const auto is_nan = hn::RebindMask(kU, hn::IsNaN(x));
    hn::StoreU(hn::DemoteTo(d16, hn::BitCast(hn::RebindToSigned<DU>(),
                                             hn::IfThenElse(is_nan, nan, rounded))),
               d16, dst + i);
  }
  for (; i < n; ++i) dst[i] = bf16_from_f32(src[i]);
}

constexpr const char* isa_name() {
  switch (HWY_TARGET) {
#if HWY_ARCH_X86
    case HWY_SSE4:
      return "sse4";
    case HWY_AVX2:
      return "avx2";
    case HWY_AVX3:
      return "avx512";
#endif
    default:
      return HWY_ARCH_ARM ? "neon" : "baseline";
  }
}

#if HWY_TARGET == HWY_AVX2
void attend_best(const AttendArgs& a) {
  if (!attend_quads<DotAvx2>(a)) attend(a);
}
#else
constexpr auto attend_best = attend;
#endif

#if HWY_TARGET == HWY_SCALAR
constexpr auto quantise = quantise_scalar;
#endif

constexpr Kernels kTable = {isa_name(), matmul,   attend_best, rms_norm, rotate,
                            layer_norm, activate, add,         to_f32,   to_bf16,
                            all_finite, quantise, nullptr};

#if HWY_TARGET == HWY_AVX3
void attend_vnni(const AttendArgs& a) {
  if (!attend_quads<DotVnni>(a)) attend(a);
}
void attend_bf16(const AttendArgs& a) {
  if (!attend_pairs<DotAvx512>(a)) attend_vnni(a);
}

constexpr Kernels with_attend(const char* name, void (*attend)(const AttendArgs&)) {
  Kernels t = kTable;
  t.name = name;
  t.attend = attend;
  return t;
}
constexpr Kernels kVnniTable = with_attend(kTable.name, attend_vnni);
constexpr Kernels kBf16Table = with_attend("avx512_bf16", attend_bf16);
#endif

}  // namespace

const Kernels* table() {
  return &kTable;
}

#if HWY_ARCH_ARM_A64
void attend_dot(const AttendArgs& a) {
  if (!attend_quads<DotNeon>(a)) attend(a);
}
void attend_bf16(const AttendArgs& a) {
  if (!attend_pairs<DotNeonBf16>(a)) attend_dot(a);
}
#endif

#if HWY_TARGET == HWY_AVX3
const Kernels* vnni_table() {
  return &kVnniTable;
}
const Kernels* bf16_table() {
  return &kBf16Table;
}
void attend_tiled(const AttendArgs& a) {
  if (!attend_tiles<AmxTiles, DotAvx512>(a)) attend_vnni(a);
}
#endif

}  // namespace pc::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pc::simd {

HWY_EXPORT(table);

#if HWY_ARCH_ARM_A64
void attend_neon_dot(const AttendArgs& args) {
  HWY_NAMESPACE::attend_dot(args);
}
void attend_neon_bf16(const AttendArgs& args) {
  HWY_NAMESPACE::attend_bf16(args);
}
#endif

#if HWY_ARCH_X86
void attend_amx(const AttendArgs& args) {
#if HWY_TARGETS & HWY_AVX3
  N_AVX3::attend_tiled(args);
#else
  HWY_STATIC_DISPATCH(table)()->attend(args);
#endif
}
#endif

#if HWY_TARGETS & HWY_AVX3
// AVX512_BF16's dot product of pairs; CPUs that have it have VNNI's of bytes too. AMD's multiplies
// twice what FMA does in a cycle; on Intel's (Sapphire Rapids) one takes longer than to widen and
// FMA, so there it runs only when asked for (docs/adr/0015-attention-kernels.md).
enum class Bf16Dot { kNone, kSlow, kFast };

static Bf16Dot bf16_dot() {
  if (!__builtin_cpu_supports("avx512bf16") || !__builtin_cpu_supports("avx512vnni"))
    return Bf16Dot::kNone;
  return __builtin_cpu_is("amd") ? Bf16Dot::kFast : Bf16Dot::kSlow;
}
#endif

// Fills `out` with the tables this CPU runs, best first; returns how many.
std::size_t hwy_tables(const Kernels** out, std::size_t capacity);

std::size_t hwy_tables(const Kernels** out, std::size_t capacity) {
  std::size_t n = 0;
  // A lower bit is a better target; what is compiled and supported is offered.
  for (std::int64_t targets = (hwy::SupportedTargets() | HWY_STATIC_TARGET) & HWY_TARGETS;
       targets != 0 && n < capacity; targets &= targets - 1) {
    const std::int64_t target = targets & -targets;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    const Kernels* table = HWY_DYNAMIC_DISPATCH(table)();
#if HWY_TARGETS & HWY_AVX3
    if (target == HWY_AVX3 && __builtin_cpu_supports("avx512vnni")) table = N_AVX3::vnni_table();
    if (target == HWY_AVX3 && bf16_dot() == Bf16Dot::kFast && n + 1 < capacity)
      out[n++] = N_AVX3::bf16_table();
#endif
    out[n++] = table;
#if HWY_TARGETS & HWY_AVX3
    if (target == HWY_AVX3 && bf16_dot() == Bf16Dot::kSlow && n < capacity)
      out[n++] = N_AVX3::bf16_table();
#endif
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return n;
}

}  // namespace pc::simd
#endif
