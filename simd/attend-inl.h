// Attention over packed keys and values.
// Per target: included again for each instruction set (see hwy_kernels.cc).
#if defined(PROMPTCACHE_SIMD_ATTEND_) == defined(HWY_TARGET_TOGGLE)
#ifdef PROMPTCACHE_SIMD_ATTEND_
#undef PROMPTCACHE_SIMD_ATTEND_
#else
#define PROMPTCACHE_SIMD_ATTEND_
#endif

#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>

#include "simd/elements-inl.h"
#include "simd/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace pc::simd::HWY_NAMESPACE {
namespace {

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

// What the model does to scores before the softmax.
HWY_INLINE void adjust(const AttendArgs& a, std::size_t row, float* scores, std::size_t first,
                       std::size_t n) {
  if (a.softcap != 0.0f) {
    const VF cap = hn::Set(kF, a.softcap), inverse = hn::Set(kF, 1.0f / a.softcap);
    for (std::size_t t = 0; t < n; t += kN)
      hn::StoreU(hn::Mul(cap, hn::Tanh(kF, hn::Mul(load_f32(scores + t), inverse))), kF,
                 scores + t);
  }
  if (a.slope) {
    const VF slope = hn::Set(kF, a.slope[row]);
    for (std::size_t t = 0; t < n; t += kN) {
      const VF distance = hn::Iota(kF, a.origin[row] + static_cast<float>(first + t));
      hn::StoreU(hn::MulAdd(slope, distance, load_f32(scores + t)), kF, scores + t);
    }
  }
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
    for (std::size_t r = 0; r < kR; ++r) {
      adjust(a, row + r, scores[r], first, n);
      correction[r] = soften(a, row + r, scores[r], first, n);
    }
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

}  // namespace
}  // namespace pc::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
