// States that tokens are written into and read from: the gated delta rule and Mamba-2's
// (RecurArgs). Per target: included again for each instruction set (see hwy_kernels.cc).
//
// Tokens go through a head's state by chunks. With D_i the decay from before the chunk to token i,
// and L_ij that from j to i, what token i writes is
//   w_i = write_i (v_i - D_i S^T k_i - sum_(j < i) L_ij (k_i . k_j) w_j)
// and what it reads is D_i S^T q_i + sum_(j <= i) L_ij (q_i . k_j) w_j: so the state is read once
// and written once a chunk, 16 columns at a time, which stay in the first cache. It is the WY form
// (Yang et al. 2024, arXiv 2406.06484), solved among columns rather than among keys.
#if defined(PROMPTCACHE_SIMD_RECUR_) == defined(HWY_TARGET_TOGGLE)
#ifdef PROMPTCACHE_SIMD_RECUR_
#undef PROMPTCACHE_SIMD_RECUR_
#else
#define PROMPTCACHE_SIMD_RECUR_
#endif

#include "simd/elements-inl.h"
#include "simd/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace pc::simd::HWY_NAMESPACE {
namespace {

HWY_INLINE float dot(const float* x, const float* y, std::size_t n) {
  VF sum = hn::Zero(kF);
  std::size_t i = 0;
  for (; i + kN <= n; i += kN) sum = hn::MulAdd(load_f32(x + i), load_f32(y + i), sum);
  float all = hn::GetLane(hn::SumOfLanes(kF, sum));
  for (; i < n; ++i) all += x[i] * y[i];
  return all;
}

// dots: [n_rows] of x with each of the rows y, n_rows a multiple of 4 or 1.
HWY_INLINE void dot_rows(const float* x, const float* const* y, std::size_t n_rows, std::size_t n,
                         float* dots) {
  std::size_t row = 0;
#if HWY_TARGET != HWY_SCALAR
  for (; row + 4 <= n_rows; row += 4) {
    VF a = hn::Zero(kF), b = a, c = a, d = a;
    std::size_t i = 0;
    for (; i + kN <= n; i += kN) {
      const VF v = load_f32(x + i);
      a = hn::MulAdd(v, load_f32(y[row] + i), a);
      b = hn::MulAdd(v, load_f32(y[row + 1] + i), b);
      c = hn::MulAdd(v, load_f32(y[row + 2] + i), c);
      d = hn::MulAdd(v, load_f32(y[row + 3] + i), d);
    }
    fold_four<Sum>(a, b, c, d, dots + row);
    for (; i < n; ++i)
      for (std::size_t j = 0; j < 4; ++j) dots[row + j] += x[i] * y[row + j][i];
  }
#endif
  for (; row < n_rows; ++row) dots[row] = dot(x, y[row], n);
}

// What the tokens of a chunk do to every column alike. Tokens that are missing do nothing.
template <std::size_t kC>
struct RecurChunk {
  const float *k[kC], *q[kC];  // [d_k]; of a missing token those of the first
  // [d_k] the k of each, then the q: more rows than there are registers to point to.
  alignas(64) float both[kC == 1 ? 1 : kMaxStateKeyDim * 2 * kC];
  float of_value[kC], of_state[kC];  // write_i, -write_i D_i
  float of_earlier[kC][kC];          // -write_i L_ij (k_i . k_j)
  float decay[kC];                   // D_i
  float of_written[kC][kC];          // L_ij (q_i . k_j)
  float rest[kC];                    // from the token to the chunk's end
};

template <std::size_t kC>
HWY_INLINE void prepare_chunk(const RecurArgs& a, std::size_t first, std::size_t n,
                              RecurChunk<kC>* c) {
  float decay[kC], write[kC], before = 1.0f, behind = 1.0f;
  for (std::size_t i = 0; i < kC; ++i) {
    const std::size_t token = first + (i < n ? i : 0);
    c->k[i] = a.k + token * a.key_stride;
    c->q[i] = a.y ? a.q + token * a.key_stride : c->k[i];
    decay[i] = i < n ? a.decay[token * a.scalar_stride] : 1.0f;
    write[i] = i < n ? a.write[token * a.scalar_stride] : 0.0f;
    c->decay[i] = before *= decay[i];
    c->of_value[i] = write[i];
    c->of_state[i] = a.corrects ? -write[i] * before : 0.0f;
  }
  for (std::size_t i = kC; i-- > 0; behind *= decay[i]) c->rest[i] = behind;
  for (std::size_t r = 0; kC != 1 && r < a.d_k; ++r) {
    for (std::size_t i = 0; i < kC; ++i) {
      c->both[r * 2 * kC + i] = c->k[i][r];
      c->both[r * 2 * kC + kC + i] = c->q[i][r];
    }
  }
  for (std::size_t i = 0; i < kC; ++i) {
    float keys[kC], queries[kC];
    if (a.corrects) dot_rows(c->k[i], c->k, kC, a.d_k, keys);
    if (a.y) dot_rows(c->q[i], c->k, kC, a.d_k, queries);
    float between = 1.0f;  // L_ij, from j = i backwards
    for (std::size_t j = i + 1; j-- > 0; between *= decay[j]) {
      c->of_written[i][j] = a.y ? between * queries[j] : 0.0f;
      c->of_earlier[i][j] = a.corrects ? -write[i] * between * keys[j] : 0.0f;
    }
  }
}

// sums[i] = sum_r x[r * stride + i] * tile[r], of kRows numbers a row. Where they are few a sum is
// four, so that none waits for the one before it.
template <std::size_t kRows>
HWY_INLINE void read_columns(const float* tile, std::size_t d_k, const float* x, std::size_t stride,
                             VF* sums) {
  constexpr std::size_t kWays = kRows <= 2 ? 4 : 1;
  VF s[kWays][kRows];
  for (auto& way : s)
    for (VF& sum : way) sum = hn::Zero(kF);
  std::size_t r = 0;
  for (; r + kWays <= d_k; r += kWays) {
    for (std::size_t way = 0; way < kWays; ++way) {
      const VF row = load_f32(tile + (r + way) * kStateColumns);
      for (std::size_t i = 0; i < kRows; ++i)
        s[way][i] = hn::MulAdd(hn::Set(kF, x[(r + way) * stride + i]), row, s[way][i]);
    }
  }
  for (; r < d_k; ++r)
    for (std::size_t i = 0; i < kRows; ++i)
      s[0][i] =
          hn::MulAdd(hn::Set(kF, x[r * stride + i]), load_f32(tile + r * kStateColumns), s[0][i]);
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t way = 1; way < kWays; ++way) s[0][i] = hn::Add(s[0][i], s[way][i]);
    sums[i] = s[0][i];
  }
}

// Columns of a tile, a vector wide. v and y: [kC] rows kStateColumns apart; y null: nobody reads.
template <std::size_t kC>
HWY_INLINE void recur_columns(const RecurArgs& a, const RecurChunk<kC>& c, const float* before,
                              float* after, const float* v, float* y) {
  VF sums[2 * kC];  // S^T k_i, then S^T q_i
  for (VF& sum : sums) sum = hn::Zero(kF);
  // Sixteen sums and their operands want more registers than AVX2 and before have.
  constexpr bool kTogether = HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM;
  if (kC == 1) {
    if (a.corrects) read_columns<1>(before, a.d_k, c.k[0], 1, sums);
    if (y) read_columns<1>(before, a.d_k, c.q[0], 1, sums + kC);
  } else if (kTogether && a.corrects && y) {
    read_columns<2 * kC>(before, a.d_k, c.both, 2 * kC, sums);
  } else {
    if (a.corrects) read_columns<kC>(before, a.d_k, c.both, 2 * kC, sums);
    if (y) read_columns<kC>(before, a.d_k, c.both + kC, 2 * kC, sums + kC);
  }
  VF w[kC];
  for (std::size_t i = 0; i < kC; ++i) {
    w[i] = hn::Mul(hn::Set(kF, c.of_value[i]), load_f32(v + i * kStateColumns));
    if (!a.corrects) continue;
    w[i] = hn::MulAdd(hn::Set(kF, c.of_state[i]), sums[i], w[i]);
    for (std::size_t j = 0; j < i; ++j)
      w[i] = hn::MulAdd(hn::Set(kF, c.of_earlier[i][j]), w[j], w[i]);
  }
  for (std::size_t i = 0; y && i < kC; ++i) {
    VF read = hn::Mul(hn::Set(kF, c.decay[i]), sums[kC + i]);
    for (std::size_t j = 0; j <= i; ++j)
      read = hn::MulAdd(hn::Set(kF, c.of_written[i][j]), w[j], read);
    hn::StoreU(read, kF, y + i * kStateColumns);
  }
  for (std::size_t i = 0; i < kC; ++i) w[i] = hn::Mul(w[i], hn::Set(kF, c.rest[i]));
  const VF decay = hn::Set(kF, c.decay[kC - 1]);
  for (std::size_t r = 0; r < a.d_k; ++r) {
    VF row = hn::Mul(decay, load_f32(before + r * kStateColumns));
    for (std::size_t i = 0; i < kC; ++i)
      row = hn::MulAdd(hn::Set(kF, kC == 1 ? c.k[0][r] : c.both[r * 2 * kC + i]), w[i], row);
    hn::StoreU(row, kF, after + r * kStateColumns);
  }
}

// Tokens [first, first + n), at most kC, through all columns.
template <std::size_t kC>
void recur_chunk(const RecurArgs& a, std::size_t first, std::size_t n, const float* before) {
  RecurChunk<kC> c;
  prepare_chunk(a, first, n, &c);
  const std::size_t tile_numbers = a.d_k * kStateColumns;
  for (std::size_t column = 0, at = 0; column < a.d_v;
       column += kStateColumns, at += tile_numbers) {
    const std::size_t n_columns = a.d_v - column < kStateColumns ? a.d_v - column : kStateColumns;
    alignas(64) float v[kC * kStateColumns] = {}, y[kC * kStateColumns];
    for (std::size_t i = 0; a.v && i < n; ++i)
      __builtin_memcpy(v + i * kStateColumns, a.v + (first + i) * a.value_stride + column,
                       n_columns * sizeof(float));
    for (std::size_t part = 0; part < kStateColumns; part += kN)
      recur_columns(a, c, before + at + part, a.after + at + part, v + part,
                    a.y ? y + part : nullptr);
    for (std::size_t i = 0; a.y && i < n; ++i)
      __builtin_memcpy(a.y + (first + i) * a.y_stride + column, y + i * kStateColumns,
                       n_columns * sizeof(float));
  }
}

void recur(const RecurArgs& a) {
  constexpr std::size_t kTokens = 8;
  const float* before = a.before;
  for (std::size_t first = 0; first < a.n;) {
    const std::size_t left = a.n - first;
    if (a.alike || left == 1) {
      recur_chunk<1>(a, first, 1, before);
      first += 1;
    } else {
      recur_chunk<kTokens>(a, first, left < kTokens ? left : kTokens, before);
      first += kTokens;
    }
    before = a.after;
  }
}

// Rows [first, first + kRows) of a tile: each number of the tile is loaded once for all of them.
template <std::size_t kRows>
HWY_INLINE void map_rows(const float* map, std::size_t first, std::size_t d_k, const float* tile,
                         const float* add, float* made) {
  VF sums[kRows];
  read_columns<kRows>(tile, d_k, map + first, d_k, sums);
  for (std::size_t i = 0; i < kRows; ++i) {
    const std::size_t row = (first + i) * kStateColumns;
    hn::StoreU(add ? hn::Add(sums[i], load_f32(add + row)) : sums[i], kF, made + row);
  }
}

void map_state(const float* map, const float* add, std::size_t d_k, std::size_t d_v,
               const float* before, float* after) {
  constexpr std::size_t kRows = 8;
  const std::size_t tile_numbers = d_k * kStateColumns;
  for (std::size_t at = 0, end = state_numbers(d_k, d_v); at < end; at += tile_numbers) {
    alignas(64) float made[kMaxStateKeyDim * kStateColumns];  // `after` may be `before`
    for (std::size_t part = 0; part < kStateColumns; part += kN) {
      const float* const tile = before + at + part;
      const float* const more = add ? add + at + part : nullptr;
      std::size_t row = 0;
      for (; row + kRows <= d_k; row += kRows)
        map_rows<kRows>(map, row, d_k, tile, more, made + part);
      for (; row < d_k; ++row) map_rows<1>(map, row, d_k, tile, more, made + part);
    }
    __builtin_memcpy(after + at, made, tile_numbers * sizeof(float));
  }
}

void convolve(const float* const* inputs, const float* weights, const float* bias,
              std::size_t n_taps, std::size_t n, float* y) {
  std::size_t c = 0;
  for (; c + kN <= n; c += kN) {
    VF sum = bias ? load_f32(bias + c) : hn::Zero(kF);
    for (std::size_t j = 0; j < n_taps; ++j)
      sum = hn::MulAdd(load_f32(weights + j * n + c), load_f32(inputs[j] + c), sum);
    hn::StoreU(sum, kF, y + c);
  }
  for (; c < n; ++c) {
    float sum = bias ? bias[c] : 0.0f;
    for (std::size_t j = 0; j < n_taps; ++j) sum += weights[j * n + c] * inputs[j][c];
    y[c] = sum;
  }
}

}  // namespace
}  // namespace pc::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
