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

#include "simd/activate-inl.h"
#include "simd/attend-inl.h"
#include "simd/attend_tiles-inl.h"
#include "simd/elements-inl.h"
#include "simd/kernels.h"
#include "simd/matmul-inl.h"
#include "simd/norm-inl.h"
#include "simd/packed_kernels.h"
#include "simd/quant-inl.h"
#include "simd/quantise-inl.h"
#include "simd/recur-inl.h"
#if HWY_ARCH_X86
#include "simd/amx_tiles.h"
#endif

HWY_BEFORE_NAMESPACE();
namespace pc::simd::HWY_NAMESPACE {
namespace {

// The scale goes into cosine and sine: what it makes small does not overflow on the way.
void rotate(const float* x, const float* cos, const float* sin, std::size_t half, float scale,
            float* y) {
  const VF factor = hn::Set(kF, scale);
  std::size_t i = 0;
  for (; i + kN <= half; i += kN) {
    const VF a = load_f32(x + i), b = load_f32(x + i + half);
    const VF c = hn::Mul(load_f32(cos + i), factor), s = hn::Mul(load_f32(sin + i), factor);
    hn::StoreU(hn::NegMulAdd(b, s, hn::Mul(a, c)), kF, y + i);
    hn::StoreU(hn::MulAdd(a, s, hn::Mul(b, c)), kF, y + i + half);
  }
  for (; i < half; ++i) {
    const float a = x[i], b = x[i + half], c = cos[i] * scale, s = sin[i] * scale;
    y[i] = a * c - b * s;
    y[i + half] = b * c + a * s;
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

constexpr Kernels kTable = {isa_name(), matmul,     attend_best, rms_norm,  rotate,   layer_norm,
                            activate,   add,        recur,       map_state, convolve, to_f32,
                            to_bf16,    all_finite, quantise,    nullptr};

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
