// The vectorised kernels: one source, compiled by Highway for each
// instruction set (foreach_target re-includes this file per target).
//
// Home of Highway. Everything here has internal linkage per target namespace;
// nothing from the standard library's containers or algorithms is used, so no
// weak symbol with wide instructions can reach the rest of the program.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/hwy_kernels.cc"
// SSE4, AVX2 and AVX-512 cover the x86 machines in use; the step between the
// baseline and SSE4 would only make the library larger.
#define HWY_DISABLED_TARGETS HWY_SSSE3
// clang-format off: foreach_target.h comes first
#include <hwy/foreach_target.h>

#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

#include "simd/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace pc::simd::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::CappedTag<float, 16>;  // at most one block of tokens
using DU = hn::RebindToUnsigned<DF>;
using VF = hn::Vec<DF>;
constexpr DF kF;
constexpr DU kU;
constexpr std::size_t kN = hn::MaxLanes(DF());
constexpr std::size_t kBlock = 16;           // tokens a packed block: modules/kv.h
constexpr std::size_t kParts = kBlock / kN;  // vectors a block of tokens

// ---------------------------------------------------------------- elements

HWY_INLINE VF load_f32(const float* p) {
  return hn::LoadU(kF, p);
}
#if HWY_ARCH_X86 && \
    HWY_TARGET >= HWY_SSE4  // no F16C, and Highway's stand-in maps infinities to numbers
HWY_INLINE VF load_f16(const std::uint16_t* p) {
  const hn::Rebind<std::uint16_t, DF> d16;
  const auto half = hn::PromoteTo(kU, hn::LoadU(d16, p));
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
HWY_INLINE VF load_f16(const std::uint16_t* p) {
  const hn::Rebind<hwy::float16_t, DF> d16;
  return hn::PromoteTo(kF, hn::LoadU(d16, reinterpret_cast<const hwy::float16_t*>(p)));
}
#endif
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

// The last n < kN elements, the rest zero.
template <class E>
HWY_INLINE VF load_tail(const typename E::T* p, std::size_t n) {
  typename E::T padded[kN] = {};
  for (std::size_t i = 0; i < n; ++i) padded[i] = p[i];
  return E::load(padded);
}

// ------------------------------------------------------------------ matmul

// kM rows of x times kW rows of w. kM * kW independent sums hide the FMA's
// latency (4 cycles x 2 ports = 8 in flight) from 2 x 4 on.
template <class E, std::size_t kM, std::size_t kW>
HWY_INLINE void matmul_tile(const MatmulArgs& a, std::size_t i0, std::size_t j0) {
  const auto* w = static_cast<const typename E::T*>(a.w) + j0 * a.k;
  const float* x = a.x + i0 * a.x_stride;
  VF sum[kM][kW];
  for (std::size_t i = 0; i < kM; ++i)
    for (std::size_t j = 0; j < kW; ++j) sum[i][j] = hn::Zero(kF);
  std::size_t k = 0;
  for (; k + kN <= a.k; k += kN) {
    VF wv[kW];
    for (std::size_t j = 0; j < kW; ++j) wv[j] = E::load(w + j * a.k + k);
    for (std::size_t i = 0; i < kM; ++i) {
      const VF xv = load_f32(x + i * a.x_stride + k);
      for (std::size_t j = 0; j < kW; ++j) sum[i][j] = hn::MulAdd(xv, wv[j], sum[i][j]);
    }
  }
  if (const std::size_t rest = a.k - k; rest != 0) {
    for (std::size_t i = 0; i < kM; ++i) {
      const VF xv = load_tail<F32>(x + i * a.x_stride + k, rest);
      for (std::size_t j = 0; j < kW; ++j)
        sum[i][j] = hn::MulAdd(xv, load_tail<E>(w + j * a.k + k, rest), sum[i][j]);
    }
  }
  for (std::size_t i = 0; i < kM; ++i) {
    float* y = a.y + (i0 + i) * a.y_stride + j0;
    for (std::size_t j = 0; j < kW; ++j) {
      const float s = hn::GetLane(hn::SumOfLanes(kF, sum[i][j]));
      y[j] = a.accumulate ? y[j] + s : s;
    }
  }
}

template <class E, std::size_t kM>
HWY_INLINE void matmul_rows(const MatmulArgs& a, std::size_t i) {
  std::size_t j = a.n_begin;
  for (; j + 4 <= a.n_end; j += 4) matmul_tile<E, kM, 4>(a, i, j);
  for (; j < a.n_end; ++j) matmul_tile<E, kM, 1>(a, i, j);
}

template <class E>
HWY_INLINE void matmul_typed(const MatmulArgs& a) {
  std::size_t i = 0;
  for (; i + 4 <= a.m; i += 4) matmul_rows<E, 4>(a, i);
  switch (a.m - i) {
    case 3:
      matmul_rows<E, 3>(a, i);
      break;
    case 2:
      matmul_rows<E, 2>(a, i);
      break;
    case 1:
      matmul_rows<E, 1>(a, i);
      break;
  }
}

void matmul(const MatmulArgs& a) {
  switch (a.type) {
    case Type::kF32:
      return matmul_typed<F32>(a);
    case Type::kF16:
      return matmul_typed<F16>(a);
    case Type::kBf16:
      return matmul_typed<Bf16>(a);
  }
}

// --------------------------------------------------------------- attention

// Tokens scored before the accumulator is rescaled once: the scores of a tile
// of 8 rows (4 KiB) and the values of 128 tokens (16 KiB of bf16 at head_dim
// 64) stay in a 32 KiB L1 cache.
constexpr std::size_t kChunkBlocks = 8;
constexpr std::size_t kChunk = kChunkBlocks * kBlock;

// A pair of bf16 in each 32-bit lane, as two vectors of f32: the low half is
// shifted up, the high half already is an f32 once the low bits are cleared.
HWY_INLINE void split_pairs(const std::uint16_t* p, VF& low, VF& high) {
  const auto pairs = hn::LoadU(kU, reinterpret_cast<const std::uint32_t*>(p));
  low = hn::BitCast(kF, hn::ShiftLeft<16>(pairs));
  high = hn::BitCast(kF, hn::And(pairs, hn::Set(kU, 0xffff0000u)));
}

// scores[r][0..16) = q[r] . keys of one block.
template <std::size_t kR>
HWY_INLINE void score_block(const AttendArgs& a, std::size_t row, std::size_t block,
                            float (*scores)[kChunk], std::size_t column) {
  VF sum[kR][kParts];
  for (std::size_t r = 0; r < kR; ++r)
    for (std::size_t v = 0; v < kParts; ++v) sum[r][v] = hn::Zero(kF);
  const float* q = a.q + row * a.head_dim;
  if (a.bf16) {
    const auto* keys = static_cast<const std::uint16_t*>(a.keys) + block * kBlock * a.head_dim;
    for (std::size_t d = 0; d < a.head_dim; d += 2) {
      for (std::size_t v = 0; v < kParts; ++v) {
        VF low, high;
        split_pairs(keys + d * kBlock + 2 * v * kN, low, high);
        for (std::size_t r = 0; r < kR; ++r) {
          sum[r][v] = hn::MulAdd(hn::Set(kF, q[r * a.head_dim + d]), low, sum[r][v]);
          sum[r][v] = hn::MulAdd(hn::Set(kF, q[r * a.head_dim + d + 1]), high, sum[r][v]);
        }
      }
    }
  } else {
    const auto* keys = static_cast<const float*>(a.keys) + block * kBlock * a.head_dim;
    for (std::size_t d = 0; d < a.head_dim; ++d) {
      for (std::size_t v = 0; v < kParts; ++v) {
        const VF k = load_f32(keys + d * kBlock + v * kN);
        for (std::size_t r = 0; r < kR; ++r)
          sum[r][v] = hn::MulAdd(hn::Set(kF, q[r * a.head_dim + d]), k, sum[r][v]);
      }
    }
  }
  for (std::size_t r = 0; r < kR; ++r)
    for (std::size_t v = 0; v < kParts; ++v) hn::StoreU(sum[r][v], kF, scores[r] + column + v * kN);
}

// scores -> exp(scores - new maximum), in place; rows not visible become 0.
// Returns the factor by which what was summed so far must be scaled.
HWY_INLINE float soften(const AttendArgs& a, std::size_t row, float* scores, std::size_t first,
                        std::size_t n) {
  const std::size_t begin = a.begin[row] > first ? a.begin[row] - first : 0;
  const std::size_t end =
      a.end[row] < first + n ? (a.end[row] > first ? a.end[row] - first : 0) : n;
  const float lowest = -HUGE_VALF;
  for (std::size_t t = 0; t < n && t < begin; ++t) scores[t] = lowest;
  for (std::size_t t = end; t < n; ++t) scores[t] = lowest;

  VF top = hn::Set(kF, a.max[row]);
  for (std::size_t t = 0; t < n; t += kN) top = hn::Max(top, load_f32(scores + t));
  const float m = hn::GetLane(hn::MaxOfLanes(kF, top));
  if (m == lowest) {  // nothing seen yet, nothing visible here
    for (std::size_t t = 0; t < n; ++t) scores[t] = 0.0f;
    return 1.0f;
  }
  const VF shift = hn::Set(kF, m);
  const VF floor = hn::Set(kF, lowest);
  VF sum = hn::Zero(kF);
  for (std::size_t t = 0; t < n; t += kN) {
    const VF s = load_f32(scores + t);
    const VF p = hn::IfThenElseZero(hn::Gt(s, floor), hn::Exp(kF, hn::Sub(s, shift)));
    sum = hn::Add(sum, p);
    hn::StoreU(p, kF, scores + t);
  }
  const float old = a.max[row];
  const float correction = old == lowest ? 0.0f : hn::GetLane(hn::Exp(kF, hn::Set(kF, old - m)));
  a.max[row] = m;
  a.sum[row] = a.sum[row] * correction + hn::GetLane(hn::SumOfLanes(kF, sum));
  return correction;
}

// acc[r][d .. d + kV vectors) = acc * correction[r] + sum_t p[r][t] value[t][d ..].
template <std::size_t kR, std::size_t kV>
HWY_INLINE void weigh_values(const AttendArgs& a, std::size_t row, std::size_t d,
                             const float (*p)[kChunk], const float* correction, std::size_t first,
                             std::size_t n) {
  VF acc[kR][kV];
  for (std::size_t r = 0; r < kR; ++r)
    for (std::size_t v = 0; v < kV; ++v)
      acc[r][v] = hn::Mul(load_f32(a.acc + (row + r) * a.head_dim + d + v * kN),
                          hn::Set(kF, correction[r]));
  if (a.bf16) {
    const auto* values = static_cast<const std::uint16_t*>(a.values) + first * a.head_dim + 2 * d;
    for (std::size_t t = 0; t < n; t += 2, values += 2 * a.head_dim) {
      for (std::size_t v = 0; v < kV; ++v) {
        VF even, odd;
        split_pairs(values + 2 * v * kN, even, odd);
        for (std::size_t r = 0; r < kR; ++r) {
          acc[r][v] = hn::MulAdd(hn::Set(kF, p[r][t]), even, acc[r][v]);
          acc[r][v] = hn::MulAdd(hn::Set(kF, p[r][t + 1]), odd, acc[r][v]);
        }
      }
    }
  } else {
    const auto* values = static_cast<const float*>(a.values) + first * a.head_dim + d;
    for (std::size_t t = 0; t < n; ++t, values += a.head_dim) {
      for (std::size_t v = 0; v < kV; ++v) {
        const VF value = load_f32(values + v * kN);
        for (std::size_t r = 0; r < kR; ++r)
          acc[r][v] = hn::MulAdd(hn::Set(kF, p[r][t]), value, acc[r][v]);
      }
    }
  }
  for (std::size_t r = 0; r < kR; ++r)
    for (std::size_t v = 0; v < kV; ++v)
      hn::StoreU(acc[r][v], kF, a.acc + (row + r) * a.head_dim + d + v * kN);
}

// The dimensions that do not fill a vector.
HWY_INLINE void weigh_one(const AttendArgs& a, std::size_t row, std::size_t d, const float* p,
                          float correction, std::size_t first, std::size_t n) {
  float acc = a.acc[row * a.head_dim + d] * correction;
  for (std::size_t t = 0; t < n; ++t) {
    const std::size_t token = first + t;
    acc += p[t] * (a.bf16 ? f32_from_bf16(static_cast<const std::uint16_t*>(
                                a.values)[(token / 2 * a.head_dim + d) * 2 + token % 2])
                          : static_cast<const float*>(a.values)[token * a.head_dim + d]);
  }
  a.acc[row * a.head_dim + d] = acc;
}

template <std::size_t kR>
HWY_INLINE void attend_tile(const AttendArgs& a, std::size_t row) {
  std::size_t low = a.begin[row], high = a.end[row];
  for (std::size_t r = 1; r < kR; ++r) {
    low = a.begin[row + r] < low ? a.begin[row + r] : low;
    high = a.end[row + r] > high ? a.end[row + r] : high;
  }
  if (low >= high) return;
  const std::size_t blocks_end = (high + kBlock - 1) / kBlock;
  alignas(64) float scores[kR][kChunk];
  for (std::size_t b = low / kBlock; b < blocks_end; b += kChunkBlocks) {
    const std::size_t blocks = blocks_end - b < kChunkBlocks ? blocks_end - b : kChunkBlocks;
    const std::size_t first = b * kBlock, n = blocks * kBlock;
    for (std::size_t i = 0; i < blocks; ++i) score_block<kR>(a, row, b + i, scores, i * kBlock);
    float correction[kR];
    for (std::size_t r = 0; r < kR; ++r) correction[r] = soften(a, row + r, scores[r], first, n);
    std::size_t d = 0;
    for (; d + 2 * kN <= a.head_dim; d += 2 * kN)
      weigh_values<kR, 2>(a, row, d, scores, correction, first, n);
    for (; d + kN <= a.head_dim; d += kN)
      weigh_values<kR, 1>(a, row, d, scores, correction, first, n);
    for (; d < a.head_dim; ++d)
      for (std::size_t r = 0; r < kR; ++r)
        weigh_one(a, row + r, d, scores[r], correction[r], first, n);
  }
}

void attend(const AttendArgs& a) {
  std::size_t row = 0;
  // Eight rows share each load of a block where the registers hold them.
  if constexpr (kParts == 1) {
    for (; row + 8 <= a.n_rows; row += 8) attend_tile<8>(a, row);
  }
  for (; row + 4 <= a.n_rows; row += 4) attend_tile<4>(a, row);
  for (; row + 2 <= a.n_rows; row += 2) attend_tile<2>(a, row);
  for (; row < a.n_rows; ++row) attend_tile<1>(a, row);
}

// ----------------------------------------------------------- element-wise

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

HWY_INLINE VF silu_mul_vector(VF g, VF u) {
  const VF one = hn::Set(kF, 1.0f);
  return hn::Mul(hn::Div(g, hn::Add(one, hn::Exp(kF, hn::Neg(g)))), u);
}

void silu_mul(float* gate, const float* up, std::size_t n) {
  std::size_t i = 0;
  for (; i + kN <= n; i += kN)
    hn::StoreU(silu_mul_vector(load_f32(gate + i), load_f32(up + i)), kF, gate + i);
  if (const std::size_t rest = n - i; rest != 0) {
    alignas(64) float padded[kN];
    hn::Store(silu_mul_vector(load_tail<F32>(gate + i, rest), load_tail<F32>(up + i, rest)), kF,
              padded);
    for (std::size_t j = 0; j < rest; ++j) gate[i + j] = padded[j];
  }
}

void add(const float* x, std::size_t n, float* y) {
  std::size_t i = 0;
  for (; i + kN <= n; i += kN) hn::StoreU(hn::Add(load_f32(x + i), load_f32(y + i)), kF, y + i);
  for (; i < n; ++i) y[i] += x[i];
}

template <class E>
HWY_INLINE void widen(const void* src, std::size_t n, float* dst) {
  const auto* s = static_cast<const typename E::T*>(src);
  std::size_t i = 0;
  for (; i + kN <= n; i += kN) hn::StoreU(E::load(s + i), kF, dst + i);
  if (const std::size_t rest = n - i; rest != 0) {
    alignas(64) float padded[kN];
    hn::Store(load_tail<E>(s + i, rest), kF, padded);
    for (std::size_t j = 0; j < rest; ++j) dst[i + j] = padded[j];
  }
}

void to_f32(const void* src, Type type, std::size_t n, float* dst) {
  switch (type) {
    case Type::kF32:
      return widen<F32>(src, n, dst);
    case Type::kF16:
      return widen<F16>(src, n, dst);
    case Type::kBf16:
      return widen<Bf16>(src, n, dst);
  }
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
#if HWY_ARCH_ARM
    case HWY_NEON:
      return "neon";
#endif
    default:
      return "baseline";
  }
}

constexpr Kernels kTable = {isa_name(), matmul, attend, rms_norm, rotate,
                            silu_mul,   add,    to_f32, to_bf16};

}  // namespace

const Kernels* table() {
  return &kTable;
}

}  // namespace pc::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pc::simd {

HWY_EXPORT(table);

// Fills `out` with the tables this CPU runs, best first; returns how many.
std::size_t hwy_tables(const Kernels** out, std::size_t capacity);

std::size_t hwy_tables(const Kernels** out, std::size_t capacity) {
  std::size_t n = 0;
  // A lower bit is a better target; what is compiled and supported is offered.
  for (std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS; targets != 0 && n < capacity;
       targets &= targets - 1) {
    const std::int64_t target = targets & -targets;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    out[n++] = HWY_DYNAMIC_DISPATCH(table)();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return n;
}

}  // namespace pc::simd
#endif
