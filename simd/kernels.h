// The hot loops, once per instruction set: a table of plain functions over
// primitives, chosen once at start.
//
// Every entry is pure (no state, no threads, no allocation) and agrees with
// the scalar table within the tolerance that its test derives. Pointers need
// no alignment beyond their element's unless said; inputs and outputs do not
// overlap unless said. Sizes of zero are allowed.
//
// Errors, of every table against double precision, for any finite input, u being 2^-24, half an
// ulp; `tail` is the argument of the exponential that the smaller side is made of. Results
// that are denormal may be off by 2^-148 besides. tests/simd asserts these bounds.
//
//   activate kSilu      8 u of the result
//            kGelu      (22 + x^2 / 2) u
//            kGeluTanh  (8 + 7 tail) u, tail = 2 sqrt(2/pi) |x + 0.044715 x^3|
//            kLogistic   8 u
//            kReluSquared  u
//            kClampedSwiglu  (8 + 2 tail) u, tail = |1.702 x|
//            an `up` multiplies that: u more, of a clamped one 2 u
//   rms_norm            (n / 2 + 7) u
//   layer_norm          (n + 4) u of the mean difference from the mean over the deviation, and
//                       (2.5 n + 19) u of the result; not of the mean, however large it is
//   rotate              3 u of the sum of the magnitudes of both products
//   add                 u of the product, u of the sum
//   recur               1e-5 of the largest magnitudes of its sums, over any number of tokens where
//                       decays and corrections do not make it grow
//   map_state           (d_k + 1) u of the sum of magnitudes
//   convolve            (n_taps + 1) u of the sum of magnitudes
//   to_f32, to_bf16     exact; to nearest even
//   quantise            half a step: simd/quantised_rows.h
//   matmul, matmul_packed  a rounding for each product and each sum, of the sum of magnitudes
//   attend              exp to 3 u, 0 below exp(-87); to 1e-4 where weights are rounded to bf16
//                       or 8 bits next; the cap's tanh to 14 u
//
// Range: squares that are no float, or are lost, are summed in double precision, so that norms are
// right for every row of floats. A rotation's scale is applied first. Where products or sums of
// `matmul` and `add`, or a score, overflow on their way, the result is not finite.
// Numbers that are none: an infinite or NaN input makes a result that depends on it NaN or
// infinite: silu(-inf) is NaN (0 times infinity), as is a score that is infinite, under a
// softcap too, and what is added up with one such number. They never turn into numbers.
// Products of pairs of bf16 (AMX, AVX512_BF16) take denormals for zeros.
//
// Threads: all functions from any thread; selection is done once, on first use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "simd/types.h"

namespace pc::simd {

// y[i][j] (+)= sum_k x[i][k] * w[j][k], for j in [n_begin, n_end): the weights
// are read once for up to four rows of x (quantised ones: for all), straight
// from their stored type.
struct MatmulArgs {
  const float* x;        // [m, k], rows x_stride apart
  const void* w;         // [n_end, k] row-major, `type`
  float* y;              // [m, n_end], rows y_stride apart
  std::size_t x_stride;  // elements
  std::size_t y_stride;  // elements
  std::size_t m, k;
  std::size_t n_begin, n_end;
  Type type;
  bool accumulate;  // add to y instead of overwriting it
  // The products of a row are summed in one order, however many rows there are. (A row by itself is
  // summed in another one, which is faster.)
  bool alike = false;
};

// Bounds a kernel's scratch on the stack: a latent of 512 and the 64 rotated beside it (DeepSeek
// V2).
inline constexpr std::size_t kMaxAttendHeadDim = 576;

// How keys and values are packed; the numbers are KvType's (modules/kv.h).
enum class KvFormat : std::uint32_t { kF32 = 1, kBf16 = 2, kQ8 = 3, kQ4 = 4 };

// What is scaled to 8 bits counts as zero below this, so that 255 / scale is finite.
inline constexpr float kLeastScale = 0x1p-100f;

// Dimensions of a q8 key, or of a query that is rounded to 8 bits, that share a scale.
inline constexpr std::size_t kKeyScaleDims = 32;

// Dimensions of a q4 value that share a step and a least number.
inline constexpr std::size_t kQ4ValueDims = 16;

// Words of scales a token that a block of q8 states begins with (modules/kv.h).
constexpr std::size_t q8_scale_words(std::size_t head_dim) {
  return (head_dim + 2 * kKeyScaleDims - 1) / (2 * kKeyScaleDims);
}

// Rows of queries against one run of packed keys and values (modules/kv.h),
// folded into a running softmax (m, l, acc): Milakov & Gimelshein 2018
// (arXiv 1805.02867); as in FlashAttention, scores never leave the cache.
struct AttendArgs {
  const float* q;              // [n_rows, head_dim], rotated and scaled
  const void* keys;            // packed blocks, aligned for f32
  const void* values;          // the same
  const std::uint32_t* begin;  // [n_rows] first visible row of the run, counted from block 0
  const std::uint32_t* end;    // [n_rows] one past the last; end <= begin: nothing visible
  float* max;                  // [n_rows] running maximum, -inf at first
  float* sum;                  // [n_rows] running sum of exponentials
  float* acc;                  // [n_rows, head_dim] running weighted values
  std::size_t n_rows;
  std::size_t head_dim;  // even, for kQ8 a multiple of 4, for kQ4 of 16; at most kMaxAttendHeadDim
  KvFormat format;
  // What may change a score s of row r against the key at block row t:
  float softcap;        // s -> softcap * tanh(s / softcap), unless 0; first
  const float* slope;   // null, or [n_rows] ALiBi: s += slope[r] * (origin[r] + t)
  const float* origin;  // [n_rows] logical position of block row 0 less the query's
  // Null, or for each row of the run, from block 0 to the end of the last block that is seen: all
  // bits where no query sees it, else none.
  const std::uint32_t* hidden = nullptr;
  std::size_t first_block =
      0;  // of the run, that keys and values begin with; none before it is seen
  // What a row sees is summed in one order, whatever the other rows see. (With windows it is cut
  // where the first of the rows begins to see.)
  bool alike = false;
  // Null, or, of kQ8 alone, what keys have lost, put back into scores before the cap: row r's for
  // all tokens of block b, counted from block 0, is the sum over d of sway[r][d] * waves[d *
  // wave_stride + b] (runtime/cpu/states/key_centres.h). What is 16 columns behind the last block
  // is readable.
  const float* sway = nullptr;  // [n_rows, head_dim]
  const float* waves = nullptr;
  std::size_t wave_stride = 0;
};

inline constexpr float kSwigluLimit = 7.0f, kSwigluAlpha = 1.702f;  // of kClampedSwiglu

// What a feed-forward layer does to its gate (or to its only input).
enum class Activation : std::uint32_t {
  kSilu = 0,      // x / (1 + exp(-x))
  kGelu = 1,      // x/2 (1 + erf(x / sqrt 2))
  kGeluTanh = 2,  // x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
  // gpt-oss's: x, cut to at most 7, times the logistic function of 1.702 x; what multiplies it is
  // cut to [-7, 7], plus 1.
  kClampedSwiglu = 3,
  kLogistic = 4,     // 1 / (1 + exp(-x))
  kReluSquared = 5,  // max(x, 0)^2
};

// The rows [row_begin, row_end) of activations, whole tiles, in the columns [32 * group_begin,
// 32 * group_end), to 8 bits (simd/quantised_rows.h). Calls for other columns, or
// for rows of other tiles, write other cache lines, but for the first and last.
struct QuantiseArgs {
  const float* x;    // [m, k]
  std::byte* dst;    // quantised_bytes(m, k)
  std::size_t m, k;  // k a multiple of 32
  std::size_t row_begin, row_end;
  std::size_t group_begin, group_end;
};

// y[i][j] (+)= sum_k x[i][k] * w[j][k] for the rows j of packed panels
// [panel_begin, panel_end), 16 rows each (simd/packed/packed.h): x in 8 bits, sums of
// 32 columns in integers, the rest in f32. Weights are read once for few rows.
struct PackedMatmulArgs {
  const std::byte* x;    // [m, k] of simd/quantised_rows.h
  const std::byte* w;    // [n, k] of simd/packed/packed.h
  float* y;              // [m, n], rows y_stride apart
  std::size_t y_stride;  // elements
  std::size_t m, k, n;
  std::size_t panel_begin, panel_end;
  Type type;
  bool accumulate;  // add to y instead of overwriting it
};

// One row of activations to bf16 in tiles (simd/packed/amx_rows.h).
struct AmxRowArgs {
  const float* x;      // [k]
  std::uint16_t* dst;  // all rows: amx_elements(m, k)
  std::size_t row, k;
  bool sums;  // write them, too
};

// y[i][j] (+)= sum_k x[i][k] * w[j][k] for the rows j of panels
// [panel_begin, panel_end), at most kAmxPanels of 16 rows: x and w in bf16, sums in
// f32.
struct AmxMatmulArgs {
  const std::uint16_t* x;  // [m, k] of simd/packed/amx_rows.h
  const std::byte* w;      // [n, k] of simd/packed/packed.h, or bf16 row-major
  float* y;                // [m, n], rows y_stride apart
  std::size_t y_stride;    // elements
  std::size_t m, k, n;
  std::size_t panel_begin, panel_end;
  Type type;
  bool accumulate;     // add to y instead of overwriting it
  std::byte* scratch;  // kAmxScratchBytes that no other thread uses, on 64 bytes
};

// A recurrent state is stored 16 of its columns at a time: [ceil(d_v / 16), d_k, 16], columns that
// are missing at its end zeros. Bounds a kernel's scratch on the stack.
inline constexpr std::size_t kStateColumns = 16, kMaxStateKeyDim = 256;

constexpr std::size_t state_numbers(std::size_t d_k, std::size_t d_v) {
  return (d_v + kStateColumns - 1) / kStateColumns * kStateColumns * d_k;
}

// Where the number S[row][column] of a state stands.
constexpr std::size_t state_number(std::size_t d_k, std::size_t row, std::size_t column) {
  return (column / kStateColumns * d_k + row) * kStateColumns + column % kStateColumns;
}

// The state S [d_k, d_v] of one head, by tokens in order:
//   S = decay_t S;  w = write_t (v_t - S^T k_t), or write_t v_t;  S += k_t w^T;  y_t = S^T q_t
// The gated delta rule where it corrects (arXiv 2412.06464), else Mamba-2's (arXiv 2405.21060).
struct RecurArgs {
  const float *q, *k;          // [n, d_k], rows key_stride apart
  const float* v;              // [n, d_v], rows value_stride apart; null: zeros
  float* y;                    // [n, d_v], rows y_stride apart; null: nobody reads, nor q
  const float *decay, *write;  // [n], scalar_stride apart
  std::size_t key_stride, value_stride, y_stride, scalar_stride;  // elements
  std::size_t n, d_k, d_v;  // d_k at most kMaxStateKeyDim; n at least 1
  const float* before;      // state_numbers(d_k, d_v): S before the first token
  float* after;             // behind the last one; may be `before`
  bool corrects;
  bool alike = false;  // the same for any n: tokens one by one, which is slower
};

struct AmxKernels {
  void (*tile_row)(const AmxRowArgs& args);
  // By AmxWay. Codes take types of amx_most_by_codes and x with its sums where the type has
  // minima; the others any type that is packed, and bf16. Codes and few: up to kAmxFew rows.
  void (*matmul_codes)(const AmxMatmulArgs& args);
  void (*matmul_few)(const AmxMatmulArgs& args);
  void (*matmul_many)(const AmxMatmulArgs& args);
};

struct Kernels {
  const char* name;  // "avx2": the value that PC_ISA takes

  void (*matmul)(const MatmulArgs& args);
  // Where head_dim is a multiple of the vector's lanes (16 of AVX-512, 8 of AVX2, 4 of
  // NEON), "avx512_bf16" and "neon_bf16" round q and the softmax's weights to bf16 if the
  // planes are bf16, as "amx" does for multiples of 32 where the CPU has AVX512_BF16 too;
  // they, "avx512" on a CPU with VNNI, "avx2", "neon_dot" and "neon_i8mm" round them to 8
  // bits if the planes are q8.
  void (*attend)(const AttendArgs& args);

  // y[i] = x[i] / sqrt(mean(x^2) + eps) * weight[i]; y may be x, n is below 2^20. [n]
  void (*rms_norm)(const float* x, const float* weight, std::size_t n, float eps, float* y);

  // Rotates pair (x[i], x[i + half]) by the angle whose cosine and sine are
  // given, for i < half, times `scale`; y may be x. [2 * half]
  void (*rotate)(const float* x, const float* cos, const float* sin, std::size_t half, float scale,
                 float* y);

  // y[i] = (x[i] - mean(x)) / sqrt(variance(x) + eps) * weight[i] + bias[i];
  // bias may be null; y may be x. [n]
  void (*layer_norm)(const float* x, const float* weight, const float* bias, std::size_t n,
                     float eps, float* y);

  // x[i] = activation(x[i]) * up[i]; up null: no factor. [n]
  void (*activate)(Activation activation, float* x, const float* up, std::size_t n);

  // y[i] += scale * x[i]. [n]
  void (*add)(const float* x, float scale, std::size_t n, float* y);

  void (*recur)(const RecurArgs& args);
  // after = map^T before + add, of states [d_k, d_v] as RecurArgs has them. map: [d_k, d_k]; add:
  // a state, or null: zeros; after may be before.
  void (*map_state)(const float* map, const float* add, std::size_t d_k, std::size_t d_v,
                    const float* before, float* after);
  // y[c] = bias[c] + sum_j weights[j * n + c] * inputs[j][c]; bias may be null. [n]
  void (*convolve)(const float* const* inputs, const float* weights, const float* bias,
                   std::size_t n_taps, std::size_t n, float* y);

  // Widening of stored elements, n of quantised types a multiple of the block:
  // equal bit for bit in all tables. Rounding to nearest even to bf16. [n]
  void (*to_f32)(const void* src, Type type, std::size_t n, float* dst);
  void (*to_bf16)(const float* src, std::size_t n, std::uint16_t* dst);

  // No element is infinite or NaN (n as for to_f32); one pass, as fast as memory.
  bool (*all_finite)(const void* src, Type type, std::size_t n);

  void (*quantise)(const QuantiseArgs& args);  // equal bit for bit in all tables
  // Null where the instruction set has no integer products here.
  void (*matmul_packed)(const PackedMatmulArgs& args);
  const AmxKernels* amx = nullptr;  // null: no tiles of bf16
  // A CPU on which this table's speed was measured; null: none, it was only tested.
  const char* timed_on = nullptr;
};

// Tables this CPU can run, best first; the scalar one is always last.
std::span<const Kernels* const> supported_kernels();

// The best table, or the one that the environment variable PC_ISA names.
// A name that is unknown or not supported here selects nothing: nullptr.
const Kernels* selected_kernels();

// The same, or the scalar table where nothing is selected: for what is not timed or compared.
const Kernels& selected_or_scalar_kernels();

// The plain C++ table: the reference for all others.
extern const Kernels kScalarKernels;

// Packing's inner function, shared by every writer of keys and values.
inline std::uint16_t bf16_from_f32(float value) {
  std::uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return static_cast<std::uint16_t>(bits >> 16 | 0x40u);  // NaN stays NaN
  return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

inline float f32_from_bf16(std::uint16_t value) {
  const std::uint32_t bits = std::uint32_t{value} << 16;
  float result;
  __builtin_memcpy(&result, &bits, sizeof result);
  return result;
}

}  // namespace pc::simd
