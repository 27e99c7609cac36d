// Attention over packed keys and values: the walk, shared by all multipliers.
// Per target: included again for each instruction set (see hwy_kernels.cc).
#if defined(PROMPTCACHE_SIMD_ATTEND_) == defined(HWY_TARGET_TOGGLE)
#ifdef PROMPTCACHE_SIMD_ATTEND_
#undef PROMPTCACHE_SIMD_ATTEND_
#else
#define PROMPTCACHE_SIMD_ATTEND_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "simd/attend_centres-inl.h"
#include "simd/attend_multiply-inl.h"
#include "simd/attend_quads-inl.h"
#include "simd/elements-inl.h"
#include "simd/exp-inl.h"
#include "simd/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace pc::simd::HWY_NAMESPACE {
namespace {

// Keys and values that all tiles of rows use before the walk goes on: they come
// from memory once, and to the other tiles from a 512 KiB L2.
constexpr std::size_t kPassBytes = 256 * 1024;

constexpr std::size_t kAhead = 16 * 1024;

// Vectors a tile of kR rows works on at once, so that sums, operands and one broadcast
// fit the registers: 32 of AVX-512, 16 of the others. (Values of quads are 4 operands a
// vector: where that is too much, some are loaded again.)
constexpr std::size_t kMaxRows = kN == 16 ? 8 : 4;
template <std::size_t kR>
constexpr std::size_t kVectors = kR == kMaxRows ? 2 : 4;

// Asks for what is kAhead bytes on: chunks of keys and of values take turns, too
// short for the hardware's prefetchers to be ahead of both streams.
HWY_INLINE void look_ahead(const std::uint32_t* p) {
  __builtin_prefetch(reinterpret_cast<const char*>(p) + kAhead, 0, 2);
}

// The same for n words, a line of 16 after the other.
HWY_INLINE void look_ahead(const std::uint32_t* p, std::size_t n) {
#pragma GCC unroll 4
  for (std::size_t w = 0; w < n; w += 16) look_ahead(p + w);
}

// Words of a block of keys, or of values.
template <class M>
HWY_INLINE std::size_t block_words(std::size_t head_dim) {
  return M::head_words(head_dim) + head_dim / M::kPerWord * kBlock;
}

// Products of the n words of group `group` of the keys at `keys`, whose words of scales begin
// at `scales`, with the notes and factors at q: what scores[r] begins with, or is added to it.
template <class M, std::size_t kR, std::size_t kV, bool kBegins>
HWY_INLINE void score_group(const float* q, const std::uint32_t* scales, const std::uint32_t* keys,
                            std::size_t group, std::size_t n, std::size_t block,
                            float (*scores)[kChunk], std::size_t column) {
  const float* const notes = q;
  q += M::kNotes * kR;
  typename M::Sum sum[kR][kV];
  for (std::size_t r = 0; r < kR; ++r)
    for (std::size_t v = 0; v < kV; ++v) sum[r][v] = M::template first_sum<kR>(notes, r);
  for (std::size_t s = 0; s < n; ++s, keys += kBlock) {
    typename M::Operand k[kV][M::kOperands];
    for (std::size_t v = 0; v < kV; ++v) {
      look_ahead(keys + v / kParts * block + v % kParts * kN);
      M::load_keys(keys + v / kParts * block + v % kParts * kN, k[v]);
    }
    for (std::size_t o = 0; o < M::kOperands; ++o, q += kR)
      for (std::size_t r = 0; r < kR; ++r) {
        const auto factor = M::broadcast(q + r);
        for (std::size_t v = 0; v < kV; ++v)
          sum[r][v] = M::multiply_add(factor, k[v][o], sum[r][v]);
      }
  }
  for (std::size_t v = 0; v < kV; ++v) {
    VF scale = hn::Zero(kF);
    if constexpr (M::kGroupWords != 0)
      scale = load_key_scales(scales + v / kParts * block + v % kParts * kN, group);
    for (std::size_t r = 0; r < kR; ++r) {
      float* const to = scores[r] + column + v * kN;
      const VF score = M::template score<kR>(sum[r][v], scale, notes, r);
      hn::StoreU(kBegins ? score : hn::Add(score, load_f32(to)), kF, to);
    }
  }
}

// scores[r] = q[r] . keys, for the tokens of kV vectors from vector `index` of the plane on.
template <class M, std::size_t kR, std::size_t kV>
HWY_INLINE void score(const float* q, const std::uint32_t* plane, std::size_t index,
                      std::size_t head_dim, float (*scores)[kChunk], std::size_t column) {
  const std::size_t block = block_words<M>(head_dim), words = head_dim / M::kPerWord;
  const std::uint32_t* scales = plane + index / kParts * block + index % kParts * kN;
  const std::uint32_t* keys = scales + M::head_words(head_dim);
  constexpr std::size_t kGroup = M::kGroupWords;
  const std::size_t first = kGroup != 0 && kGroup < words ? kGroup : words;
  score_group<M, kR, kV, true>(q, scales, keys, 0, first, block, scores, column);
  if constexpr (kGroup != 0) {
    for (std::size_t s = kGroup; s < words; s += kGroup) {
      q += (M::kNotes + kGroup * M::kOperands) * kR;
      score_group<M, kR, kV, false>(q, scales, keys + s * kBlock, s / kGroup,
                                    words - s < kGroup ? words - s : kGroup, block, scores, column);
    }
  }
}

// What the model does to scores before the softmax. One that is not finite becomes NaN: a cap
// would make a number of it.
HWY_INLINE void adjust(const AttendArgs& a, std::size_t row, float* scores, std::size_t first,
                       std::size_t n) {
  if (a.softcap != 0.0f) {
    const VF cap = hn::Set(kF, a.softcap), inverse = hn::Set(kF, 1.0f / a.softcap);
    for (std::size_t t = 0; t < n; t += kN) {
      const VF score = load_f32(scores + t);
      const VF capped = hn::Mul(cap, hn::Tanh(kF, hn::Mul(score, inverse)));
      hn::StoreU(hn::MulAdd(score, hn::Zero(kF), capped), kF, scores + t);
    }
  }
  if (a.slope) {
    const VF slope = hn::Set(kF, a.slope[row]);
    for (std::size_t t = 0; t < n; t += kN) {
      const VF distance = hn::Iota(kF, a.origin[row] + static_cast<float>(first + t));
      hn::StoreU(hn::MulAdd(slope, distance, load_f32(scores + t)), kF, scores + t);
    }
  }
}

// The score of a token that a row does not see: finite, so that an infinite one is a fault.
constexpr float kHidden = -0x1.fffffep127f;

HWY_INLINE void hide(const AttendArgs& a, std::size_t row, float* scores, std::size_t first,
                     std::size_t n) {
  const std::size_t begin = a.begin[row] > first ? a.begin[row] - first : 0;
  const std::size_t end = a.end[row] > first ? a.end[row] - first : 0;
  const VF from = hn::Set(kF, static_cast<float>(begin));
  const VF to = hn::Set(kF, static_cast<float>(end < n ? end : n));
  for (std::size_t t = 0; t < n; t += kN) {
    const VF index = hn::Iota(kF, static_cast<float>(t));
    auto seen = hn::And(hn::Ge(index, from), hn::Lt(index, to));
    if (a.hidden)
      seen = hn::AndNot(hn::RebindMask(kF, hn::MaskFromVec(hn::LoadU(kU, a.hidden + first + t))),
                        seen);
    hn::StoreU(hn::IfThenElse(seen, load_f32(scores + t), hn::Set(kF, kHidden)), kF, scores + t);
  }
}

// scores -> weights exp(score - new maximum), in place, as M multiplies the blocks at
// `values`, for at most 16 rows. correction[r]: the factor by which what was summed so
// far must be scaled. ask: meanwhile, for the values that come next. A score that is not
// finite makes the sum NaN, minus infinity too, which weighs nothing but is no score.
template <class M>
HWY_INLINE void soften(const AttendArgs& a, std::size_t row, std::size_t rows,
                       float (*scores)[kChunk], std::size_t n, const std::uint32_t* values,
                       bool ask, float* correction) {
  alignas(64) float shift[16] = {}, change[16] = {}, broken[16];
  for (std::size_t r = 0; r < rows; ++r) {
    const float old = a.max[row + r];
    VF top = hn::Set(kF, old), zeros = hn::Zero(kF);  // NaN where a score is not finite
    for (std::size_t t = 0; t < n; t += kN) {
      const VF score = load_f32(scores[r] + t);
      top = hn::Max(top, score);
      zeros = hn::MulAdd(score, hn::Zero(kF), zeros);
    }
    broken[r] = hn::AllTrue(kF, hn::Eq(zeros, zeros)) ? 0.0f : __builtin_nanf("");
    float m = hn::GetLane(hn::MaxOfLanes(kF, top));
    if (m <= kHidden) m = old;
    a.max[row + r] = m;
    shift[r] = m == -HUGE_VALF ? 0.0f : m;  // nothing seen yet: every weight is 0
    change[r] = old - shift[r];
  }
  for (std::size_t r = 0; r < rows; r += kN)
    hn::StoreU(exp_negative(load_f32(change + r)), kF, correction + r);
  const std::size_t blocks = n / kBlock;
  for (std::size_t r = 0; r < rows; ++r) {
    if (ask) {  // each row, its share
      const std::size_t words = blocks * block_words<M>(a.head_dim) / rows;
      look_ahead(values + r * words, words);
    }
    const VF sum = M::store_weights(scores[r], blocks, hn::Set(kF, shift[r]), values,
                                    block_words<M>(a.head_dim));
    a.sum[row + r] =
        a.sum[row + r] * correction[r] + (hn::GetLane(hn::SumOfLanes(kF, sum)) + broken[r]);
  }
}

// acc[r][v] += the sum over a block's tokens of factor[r] * value[d ..].
template <class M, std::size_t kR, std::size_t kV>
HWY_INLINE void weigh_block(const float* factors, const std::uint32_t* values, std::size_t head_dim,
                            VF (&acc)[kR][kV]) {
  constexpr std::size_t kSteps = kBlock / M::kPerWord;
  if constexpr (M::kSumsBlocks) {
    typename M::Operand value[kSteps][kV];
    for (std::size_t s = 0; s < kSteps; ++s, values += head_dim)
      for (std::size_t v = 0; v < kV; ++v) {
        look_ahead(values + v * kN);
        value[s][v] = hn::LoadU(kU, values + v * kN);
      }
    M::template add_values<kR, kV>(factors, kChunk, value, acc);
  } else {
    for (std::size_t s = 0; s < kSteps; ++s, values += head_dim) {
      typename M::Operand value[kV][M::kOperands];
      for (std::size_t v = 0; v < kV; ++v) {
        look_ahead(values + v * kN);
        M::load_values(values + v * kN, value[v]);
      }
      for (std::size_t o = 0; o < M::kOperands; ++o, ++factors)
        for (std::size_t r = 0; r < kR; ++r) {
          const auto factor = M::broadcast(factors + r * kChunk);
          for (std::size_t v = 0; v < kV; ++v)
            acc[r][v] = M::multiply_add(factor, value[v][o], acc[r][v]);
        }
    }
  }
}

// acc[r][d .. d + kV vectors) = acc * correction[r] + sum_t p[r][t] value[t][d ..], for the
// blocks of n tokens at `values`.
template <class M, std::size_t kR, std::size_t kV>
HWY_INLINE void weigh(const AttendArgs& a, std::size_t row, std::size_t d, const float (*p)[kChunk],
                      const float* correction, const std::uint32_t* values, std::size_t n) {
  VF acc[kR][kV];
  for (std::size_t r = 0; r < kR; ++r)
    for (std::size_t v = 0; v < kV; ++v)
      acc[r][v] = hn::Mul(load_f32(a.acc + (row + r) * a.head_dim + d + v * kN),
                          hn::Set(kF, correction[r]));
  values += M::head_words(a.head_dim) + d;
  for (std::size_t b = 0; b < n / kBlock; ++b, values += block_words<M>(a.head_dim))
    weigh_block<M, kR, kV>(p[0] + b * M::kFactors, values, a.head_dim, acc);
  for (std::size_t r = 0; r < kR; ++r)
    for (std::size_t v = 0; v < kV; ++v)
      hn::StoreU(acc[r][v], kF, a.acc + (row + r) * a.head_dim + d + v * kN);
}

// Value d of token t of a block, of q8 its code.
HWY_INLINE float value_at(const AttendArgs& a, const std::uint32_t* block, std::size_t t,
                          std::size_t d) {
  if (a.format == KvFormat::kQ8)
    return reinterpret_cast<const std::int8_t*>(
        block + MultiplyQ8::head_words(a.head_dim))[(t / 4 * a.head_dim + d) * 4 + t % 4];
  if (a.format == KvFormat::kBf16)
    return f32_from_bf16(
        reinterpret_cast<const std::uint16_t*>(block)[(t / 2 * a.head_dim + d) * 2 + t % 2]);
  return reinterpret_cast<const float*>(block)[t * a.head_dim + d];
}

// The dimensions that do not fill a vector.
template <class M>
HWY_INLINE void weigh_one(const AttendArgs& a, std::size_t row, std::size_t d, const float* p,
                          float correction, const std::uint32_t* values, std::size_t n) {
  float acc = a.acc[row * a.head_dim + d] * correction;
  for (std::size_t t = 0; t < n; ++t)
    acc += p[t] * value_at(a, values + t / kBlock * block_words<M>(a.head_dim), t % kBlock, d);
  a.acc[row * a.head_dim + d] = acc;
}

// Of the blocks [block, end) those that any of some rows sees, and the tokens [low, high)
// that all of them see.
struct Visible {
  std::size_t block, end, low, high;
  bool all(std::size_t first, std::size_t n) const { return low <= first && first + n <= high; }
};
HWY_INLINE Visible visible(const AttendArgs& a, std::size_t row, std::size_t rows,
                           std::size_t block, std::size_t end) {
  std::size_t low = a.begin[row], high = a.end[row];
  Visible v{block, end, low, high};
  for (std::size_t r = row + 1; r < row + rows; ++r) {
    low = a.begin[r] < low ? a.begin[r] : low;
    high = a.end[r] > high ? a.end[r] : high;
    v.low = a.begin[r] > v.low ? a.begin[r] : v.low;
    v.high = a.end[r] < v.high ? a.end[r] : v.high;
  }
  v.block = low / kBlock > block ? low / kBlock : block;
  if (a.alike) v.block -= (v.block - block) % kChunkBlocks;
  v.end = (high + kBlock - 1) / kBlock < end ? (high + kBlock - 1) / kBlock : end;
  return v;
}

// The block of the run at `block` of a plane of words.
HWY_INLINE const std::uint32_t* block_at(const AttendArgs& a, const void* plane, std::size_t block,
                                         std::size_t words) {
  return static_cast<const std::uint32_t*>(plane) + (block - a.first_block) * words;
}

// Blocks [block, end) against the rows [row, row + kR).
template <class M, std::size_t kR>
HWY_INLINE void attend_tile(const AttendArgs& a, std::size_t row, std::size_t block,
                            std::size_t end) {
  const Visible seen = visible(a, row, kR, block, end);
  if (seen.block >= seen.end) return;

  alignas(64) float q[(kMaxAttendHeadDim + M::kNotes) * kR];
  alignas(64) float scores[kR][kChunk], correction[16];
  M::template store_queries<kR>(a.q + row * a.head_dim, a.head_dim, q);
  const std::size_t words = block_words<M>(a.head_dim);
  constexpr std::size_t kV = kVectors<kR>;
  for (std::size_t b = seen.block; b < seen.end; b += kChunkBlocks) {
    const std::size_t blocks = seen.end - b < kChunkBlocks ? seen.end - b : kChunkBlocks;
    const std::size_t first = b * kBlock, n = blocks * kBlock;
    const std::uint32_t* const keys = block_at(a, a.keys, b, words);
    std::size_t t = 0;
    for (; t + kV * kN <= n; t += kV * kN) score<M, kR, kV>(q, keys, t / kN, a.head_dim, scores, t);
    for (; t < n; t += kN) score<M, kR, 1>(q, keys, t / kN, a.head_dim, scores, t);
    if (a.sway) add_centres<kR>(a, row, b, blocks, scores);
    for (std::size_t r = 0; r < kR; ++r) {
      adjust(a, row + r, scores[r], first, n);
      if (a.hidden || !seen.all(first, n)) hide(a, row + r, scores[r], first, n);
    }
    const std::uint32_t* from = block_at(a, a.values, b, words);
    // The first tile waits for memory, and weights of bytes take long enough to ask meanwhile.
    soften<M>(a, row, kR, scores, n, from, M::kSumsBlocks && row == 0, correction);
    std::size_t d = 0;
    for (; d + kV * kN <= a.head_dim; d += kV * kN)
      weigh<M, kR, kV>(a, row, d, scores, correction, from, n);
    for (; d + kN <= a.head_dim; d += kN) weigh<M, kR, 1>(a, row, d, scores, correction, from, n);
    for (; d < a.head_dim; ++d)
      for (std::size_t r = 0; r < kR; ++r)
        weigh_one<M>(a, row + r, d, scores[r], correction[r], from, n);
  }
}

// Blocks whose keys and values take at most n_bytes, in whole chunks where there is room for one.
template <class M>
HWY_INLINE std::size_t blocks_in(std::size_t n_bytes, std::size_t head_dim) {
  const std::size_t blocks = n_bytes / (2 * 4 * block_words<M>(head_dim));
  return blocks > kChunkBlocks ? blocks - blocks % kChunkBlocks : blocks;
}

// Calls pass(block, end) for runs of n_blocks of the blocks that any row sees.
template <class Pass>
HWY_INLINE void in_passes(const AttendArgs& a, std::size_t n_blocks, Pass pass) {
  std::size_t low = ~std::size_t{0}, high = 0;
  for (std::size_t r = 0; r < a.n_rows; ++r) {
    if (a.begin[r] >= a.end[r]) continue;
    low = a.begin[r] < low ? a.begin[r] : low;
    high = a.end[r] > high ? a.end[r] : high;
  }
  const std::size_t end = (high + kBlock - 1) / kBlock;
  const std::size_t begin = low / kBlock;
  for (std::size_t b = a.alike ? begin - begin % n_blocks : begin; b < end; b += n_blocks)
    pass(b, b + n_blocks < end ? b + n_blocks : end);
}

// Blocks [block, end) against all rows.
template <class M>
HWY_INLINE void attend_blocks(const AttendArgs& a, std::size_t block, std::size_t end) {
  std::size_t row = 0;
  if constexpr (kMaxRows == 8)
    for (; row + 8 <= a.n_rows; row += 8) attend_tile<M, 8>(a, row, block, end);
  for (; row + 4 <= a.n_rows; row += 4) attend_tile<M, 4>(a, row, block, end);
  for (; row + 2 <= a.n_rows; row += 2) attend_tile<M, 2>(a, row, block, end);
  for (; row < a.n_rows; ++row) attend_tile<M, 1>(a, row, block, end);
}

template <class M>
HWY_INLINE void attend_with(const AttendArgs& a) {
  in_passes(a, blocks_in<M>(kPassBytes, a.head_dim),
            [&](std::size_t block, std::size_t end) HWY_ATTR { attend_blocks<M>(a, block, end); });
}

// A number of q4 is step * c + least; (1 + c / 16) is a float whose bits are the code's in place.
// What is multiplied and added then, times 1 + 2^-9: bits are cut, not rounded, to make a bf16 of
// the result, and are so as far above as below on the average. Numbers that are bf16's stay what
// they are.
struct Q4Lines {
  alignas(64) float factor[kBlock], summand[kBlock];
  // Of 16 pairs of bf16, a step and a least number.
  HWY_INLINE explicit Q4Lines(const std::uint32_t* pairs) {
    const VF up = hn::Set(kF, 1.0f + 0x1p-9f), sixteen = hn::Set(kF, 16.0f);
    for (std::size_t i = 0; i < kBlock; i += kN) {
      const VU pair = hn::LoadU(kU, pairs + i);
      const VF step = hn::Mul(hn::BitCast(kF, hn::ShiftLeft<16>(pair)), sixteen);
      const VF least = hn::BitCast(kF, hn::And(pair, hn::Set(kU, 0xffff0000u)));
      hn::StoreU(hn::Mul(step, up), kF, factor + i);
      hn::StoreU(hn::Mul(hn::Sub(least, step), up), kF, summand + i);
    }
  }
};

// Code kIndex of each word, on its line.
template <int kIndex>
HWY_INLINE VF number_at(VU words, const Q4Lines& lines, std::size_t first) {
  constexpr int kShift = 19 - 4 * kIndex;  // to the four highest bits of a mantissa
  VU bits;
  if constexpr (kShift > 0)
    bits = hn::ShiftLeft<kShift>(words);
  else
    bits = hn::ShiftRight<-kShift>(words);
  const VU one_and = hn::OrAnd(hn::Set(kU, 0x3f800000u), bits, hn::Set(kU, 0xfu << 19));
  return hn::MulAdd(hn::BitCast(kF, one_and), hn::Set(kF, lines.factor[first + kIndex]),
                    hn::Set(kF, lines.summand[first + kIndex]));
}

// Codes kFirst and the next of each word, as a pair of bf16.
template <int kFirst>
HWY_INLINE VU pair_at(VU words, const Q4Lines& lines, std::size_t first) {
  const VU low = hn::BitCast(kU, number_at<kFirst>(words, lines, first));
  const VU high = hn::BitCast(kU, number_at<kFirst + 1>(words, lines, first));
  return hn::OrAnd(hn::ShiftRight<16>(low), high, hn::Set(kU, 0xffff0000u));
}

// The eight codes of each word, on lines from `first` on: four rows of words of pairs, `stride`
// words apart.
HWY_INLINE void unpack_octets(VU words, const Q4Lines& lines, std::size_t first, std::size_t stride,
                              std::uint32_t* to) {
  hn::StoreU(pair_at<0>(words, lines, first), kU, to);
  hn::StoreU(pair_at<2>(words, lines, first), kU, to + stride);
  hn::StoreU(pair_at<4>(words, lines, first), kU, to + 2 * stride);
  hn::StoreU(pair_at<6>(words, lines, first), kU, to + 3 * stride);
}

// A block of q4 keys as one of bf16: eight dimensions of 16 tokens at a time.
HWY_INLINE void unpack_keys(const std::uint32_t* block, std::size_t head_dim, std::uint32_t* to) {
  const std::uint32_t* words = block + head_dim;
  for (std::size_t d = 0; d < head_dim; d += kBlock) {
    const Q4Lines lines(block + d);
    for (std::size_t first = 0; first < kBlock; first += 8, words += kBlock, to += 4 * kBlock)
      for (std::size_t t = 0; t < kBlock; t += kN)
        unpack_octets(hn::LoadU(kU, words + t), lines, first, kBlock, to + t);
  }
}

// The same of values: kQ4ValueDims dimensions of eight tokens at a time.
HWY_INLINE void unpack_values(const std::uint32_t* block, std::size_t head_dim, std::uint32_t* to) {
  const std::uint32_t* const words = block + head_dim;
  for (std::size_t d = 0; d < head_dim; d += kQ4ValueDims, block += kBlock) {
    const Q4Lines lines(block);
    for (std::size_t o = 0; o < kBlock / 8; ++o)
      for (std::size_t i = d; i < d + kQ4ValueDims; i += kN)
        unpack_octets(hn::LoadU(kU, words + o * head_dim + i), lines, 8 * o, head_dim,
                      to + 4 * o * head_dim + i);
  }
}

// What is unpacked at a time: most of a small L2 is left, and little of a thread's stack taken.
constexpr std::size_t kUnpackedBytes = 96 * 1024;

// q4: blocks are made bf16's, and attended as these by attend_some(args, block, end).
template <class AttendSome>
HWY_INLINE void attend_q4(const AttendArgs& a, AttendSome attend_some) {
  alignas(64) std::uint32_t keys[kUnpackedBytes / 8], values[kUnpackedBytes / 8];
  const std::size_t words = block_words<MultiplyBf16>(a.head_dim);
  const std::size_t packed = a.head_dim + a.head_dim / 8 * kBlock;
  AttendArgs part = a;
  part.keys = keys;
  part.values = values;
  part.format = KvFormat::kBf16;
  in_passes(a, blocks_in<MultiplyBf16>(kUnpackedBytes, a.head_dim),
            [&](std::size_t block, std::size_t end) HWY_ATTR {
              for (std::size_t b = block; b < end; ++b) {
                unpack_keys(block_at(a, a.keys, b, packed), a.head_dim, keys + (b - block) * words);
                unpack_values(block_at(a, a.values, b, packed), a.head_dim,
                              values + (b - block) * words);
              }
              part.first_block = block;
              attend_some(part, block, end);
            });
}

void attend(const AttendArgs& a) {
  switch (a.format) {
    case KvFormat::kF32:
      return attend_with<MultiplyF32>(a);
    case KvFormat::kBf16:
      return attend_with<MultiplyBf16>(a);
    case KvFormat::kQ8:
      return attend_with<MultiplyQ8>(a);
    case KvFormat::kQ4:
      return attend_q4(a, attend_blocks<MultiplyBf16>);
  }
}

// Dot products of pairs and of quads take whole vectors of dimensions.
template <class Dot>
HWY_INLINE bool attend_pairs(const AttendArgs& a) {
  if (a.format == KvFormat::kQ4) {
    attend_q4(a, attend_blocks<MultiplyPairs<Dot>>);
    return true;
  }
  if (a.format != KvFormat::kBf16 || a.head_dim % kN != 0) return false;
  attend_with<MultiplyPairs<Dot>>(a);
  return true;
}
#if HWY_TARGET != HWY_SCALAR
template <class Dot>
HWY_INLINE bool attend_quads(const AttendArgs& a) {
  if (a.format != KvFormat::kQ8 || a.head_dim % kN != 0) return false;
  attend_with<MultiplyQuads<Dot>>(a);
  return true;
}
#endif

}  // namespace
}  // namespace pc::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
