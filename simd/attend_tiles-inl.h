// Attention over bf16 states on AMX's tiles, up to 32 rows of queries at once: what is
// multiplied is tiles (simd/amx_block-inl.h), what lies between is the walk's.
//
// Packed keys [head_dim / 2][16 tokens][2] and values [8 pairs of tokens][head_dim][2] are
// the right operands of tdpbf16ps as they lie; queries and the softmax's weights, rounded
// to bf16 as by MultiplyPairs, are the left ones.
// Per target: included again for each instruction set (see hwy_kernels.cc).
#if defined(PROMPTCACHE_SIMD_ATTEND_TILES_) == defined(HWY_TARGET_TOGGLE)
#ifdef PROMPTCACHE_SIMD_ATTEND_TILES_
#undef PROMPTCACHE_SIMD_ATTEND_TILES_
#else
#define PROMPTCACHE_SIMD_ATTEND_TILES_
#endif

#include <hwy/highway.h>

#include "simd/amx_block-inl.h"
#include "simd/attend-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pc::simd::HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR  // vectors of one hold no pairs

constexpr std::size_t kTileRows = 16, kTileBytes = 64 * kTileRows;
constexpr std::size_t kTileDims = 32;  // of keys a tile, and of values two

// Rounded to bf16, and zeros for the rows of tiles beyond the last.
template <class Dot>
HWY_INLINE void round_queries(const float* q, std::size_t n, std::size_t padded,
                              std::uint16_t* to) {
  for (std::size_t i = 0; i < n; i += kN) hn::StoreU(Dot::round(load_f32(q + i)), k16, to + i);
  __builtin_memset(to + n, 0, 2 * (padded - n));
}

// scores[r] = q[r] . keys for kTiles tiles of rows of q, [16 * kTiles][head_dim] bf16.
template <class Tiles, int kTiles>
HWY_INLINE void score_on_tiles(const std::uint16_t* q, const std::uint32_t* keys,
                               std::size_t head_dim, std::size_t blocks, bool ask,
                               float (*scores)[kChunk]) {
  const std::size_t words = head_dim / 2 * kBlock;
  const TileOperand left{q, 2 * head_dim, 64, kTileRows * 2 * head_dim};
  for (std::size_t b = 0; b < blocks; b += 2, keys += 2 * words) {
    const bool both = blocks - b > 1;
    if (ask) look_ahead(keys, (both ? 2 : 1) * words);
    TileTarget target[2][2] = {};
    for (std::size_t i = 0; i < kTiles; ++i)
      for (std::size_t j = 0; j < 2; ++j)
        target[i][j] = {scores[kTileRows * i] + (b + j) * kBlock, kChunk, kTileRows, kBlock};
    const TileOperand right{keys, 64, kTileBytes, 4 * words};
    const std::size_t steps = head_dim / kTileDims;
    both ? times_block<Tiles, kTiles, 2>(left, right, steps, false, target)
         : times_block<Tiles, kTiles, 1>(left, right, steps, false, target);
  }
}

// acc[r] += sum_t p[r][t] value[t] for kTiles tiles of rows, `rows` of them to be kept.
// The weights p, bf16, of the tokens past an odd number of blocks are set to zero.
template <class Tiles, int kTiles>
HWY_INLINE void weigh_on_tiles(float* acc, std::size_t rows, std::size_t head_dim,
                               float (*p)[kChunk], const std::uint32_t* values,
                               std::size_t blocks) {
  const std::size_t pairs = kBlock / 2;  // a row of words a pair, `pairs` rows a block
  const std::uint32_t* last = values + (blocks - 1) * pairs * head_dim;
  float* const last_weights = p[0] + blocks / 2 * kBlock;
  const bool odd = blocks % 2 != 0;
  for (std::size_t r = 0; odd && r < kTileRows * kTiles; ++r)
    __builtin_memset(last_weights + r * kChunk + pairs, 0, 2 * kBlock);
  alignas(64) std::uint32_t padded[2][kTileRows][16] = {};  // the last block and zeros
  TileOperand left{p, 4 * kChunk, 64, kTileRows * 4 * kChunk};
  for (std::size_t d = 0; d < head_dim; d += kTileDims) {
    TileTarget target[2][2] = {};
    for (std::size_t i = 0; i < kTiles; ++i)
      for (std::size_t j = 0; j < 2; ++j)
        target[i][j] = {acc + kTileRows * i * head_dim + d + 16 * j, head_dim,
                        rows - kTileRows * i < kTileRows ? rows - kTileRows * i : kTileRows, 16};
    const TileOperand right{values + d, 4 * head_dim, kTileRows * 4 * head_dim, 64};
    left.at = p;
    if (blocks > 1) times_block<Tiles, kTiles, 2>(left, right, blocks / 2, true, target);
    if (!odd) continue;
    for (std::size_t s = 0; s < pairs; ++s)
      for (std::size_t j = 0; j < 2; ++j)
        __builtin_memcpy(padded[j][s], last + s * head_dim + d + 16 * j, 64);
    left.at = last_weights;
    times_block<Tiles, kTiles, 2>(left, {padded, 64, 0, kTileBytes}, 1, true, target);
  }
}

// What was summed is scaled where a new maximum came; behind the first chunks that is rare.
HWY_INLINE void scale(float* acc, std::size_t n, float factor) {
  if (factor == 1.0f) return;
  for (std::size_t d = 0; d < n; d += kN)
    hn::StoreU(hn::Mul(load_f32(acc + d), hn::Set(kF, factor)), kF, acc + d);
}

// Blocks [block, end) against the rows [row, row + rows), at most 16 * kTiles.
template <class Tiles, class Dot, int kTiles>
HWY_INLINE void attend_rows(const AttendArgs& a, std::size_t row, std::size_t rows,
                            std::size_t block, std::size_t end) {
  using M = MultiplyPairs<Dot>;
  const Visible seen = visible(a, row, rows, block, end);
  if (seen.block >= seen.end) return;

  alignas(64) std::uint16_t q[kTileRows * kTiles * kMaxAttendHeadDim];
  alignas(64) float scores[kTileRows * kTiles][kChunk], correction[kTileRows * kTiles];
  round_queries<Dot>(a.q + row * a.head_dim, rows * a.head_dim, kTileRows * kTiles * a.head_dim, q);
  float* const acc = a.acc + row * a.head_dim;
  const std::size_t words = block_words<M>(a.head_dim);
  const bool ask = row == 0;  // these wait for memory; the others find what they brought
  for (std::size_t b = seen.block; b < seen.end; b += kChunkBlocks) {
    const std::size_t blocks = seen.end - b < kChunkBlocks ? seen.end - b : kChunkBlocks;
    const std::size_t first = b * kBlock, n = blocks * kBlock;
    const std::uint32_t* const keys = block_at(a, a.keys, b, words);
    const std::uint32_t* const values = block_at(a, a.values, b, words);
    score_on_tiles<Tiles, kTiles>(q, keys, a.head_dim, blocks, ask, scores);
    for (std::size_t r = 0; r < rows; ++r) {
      adjust(a, row + r, scores[r], first, n);
      if (a.hidden || !seen.all(first, n)) hide(a, row + r, scores[r], first, n);
    }
    for (std::size_t r = 0; r < rows; r += kTileRows)
      soften<M>(a, row + r, rows - r < kTileRows ? rows - r : kTileRows, scores + r, n, values,
                ask && r == 0, correction + r);
    for (std::size_t r = 0; r < rows; ++r) scale(acc + r * a.head_dim, a.head_dim, correction[r]);
    weigh_on_tiles<Tiles, kTiles>(acc, rows, a.head_dim, scores, values, blocks);
  }
}

// Blocks [block, end) against all rows.
template <class Tiles, class Dot>
HWY_INLINE void attend_all_rows(const AttendArgs& a, std::size_t block, std::size_t end) {
  std::size_t row = 0;
  for (; row + kTileRows < a.n_rows; row += 2 * kTileRows)
    attend_rows<Tiles, Dot, 2>(
        a, row, a.n_rows - row < 2 * kTileRows ? a.n_rows - row : 2 * kTileRows, block, end);
  if (row < a.n_rows) attend_rows<Tiles, Dot, 1>(a, row, a.n_rows - row, block, end);
}

// bf16, or q4, whose heads fill tiles.
template <class Tiles, class Dot>
HWY_INLINE bool attend_tiles(const AttendArgs& a) {
  if (a.format != KvFormat::kBf16 && a.format != KvFormat::kQ4) return false;
  if (a.head_dim % kTileDims != 0) return false;
  Tiles::configure();
  if (a.format == KvFormat::kQ4)
    attend_q4(a, attend_all_rows<Tiles, Dot>);
  else
    in_passes(a, blocks_in<MultiplyPairs<Dot>>(kPassBytes, a.head_dim),
              [&](std::size_t block, std::size_t end)
                  HWY_ATTR { attend_all_rows<Tiles, Dot>(a, block, end); });
  Tiles::release();
  return true;
}

#endif  // HWY_SCALAR

}  // namespace
}  // namespace pc::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
