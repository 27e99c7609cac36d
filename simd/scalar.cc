// The reference table: what each kernel means, in plain loops. The wide sums
// are taken in double, so that a disagreement is the other side's rounding.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "simd/kernels.h"
#include "simd/packed_kernels.h"
#include "simd/scalar_quant.h"

namespace pc::simd {
namespace {

constexpr std::size_t kBlock = 16;  // tokens a packed block: modules/kv.h

float element(const void* data, Type type, std::size_t i) {
  switch (type) {
    case Type::kF32:
      return static_cast<const float*>(data)[i];
    case Type::kF16:
      return f32_from_f16(static_cast<const std::uint16_t*>(data)[i]);
    case Type::kBf16:
      return f32_from_bf16(static_cast<const std::uint16_t*>(data)[i]);
    default:
      return quantised_element(data, type, i);
  }
}

void matmul(const MatmulArgs& a) {
  for (std::size_t i = 0; i < a.m; ++i) {
    for (std::size_t j = a.n_begin; j < a.n_end; ++j) {
      double sum = 0.0;
      for (std::size_t k = 0; k < a.k; ++k) {
        sum += static_cast<double>(a.x[i * a.x_stride + k]) * element(a.w, a.type, j * a.k + k);
      }
      float& y = a.y[i * a.y_stride + j];
      y = static_cast<float>(a.accumulate ? y + sum : sum);
    }
  }
}

// Element (token t, dimension d) of packed keys and values: modules/kv.h.
struct Q8Block {
  const float* scales;        // [q8_scale_words][16]
  const std::uint8_t* codes;  // [16 * head_dim]
  Q8Block(const void* plane, std::size_t block, std::size_t head_dim)
      : scales(reinterpret_cast<const float*>(
            static_cast<const std::uint8_t*>(plane) +
            block * kBlock * (sizeof(float) * q8_scale_words(head_dim) + head_dim))),
        codes(reinterpret_cast<const std::uint8_t*>(scales + kBlock * q8_scale_words(head_dim))) {}

  float key_scale(std::size_t row, std::size_t d) const {
    const std::size_t group = d / kKeyScaleDims;
    const auto* pairs = reinterpret_cast<const std::uint16_t*>(scales);
    return f32_from_bf16(pairs[(group / 2 * kBlock + row) * 2 + group % 2]);
  }
};

// A block of q4: pairs of bf16, then words of eight codes.
struct Q4Block {
  const std::uint32_t *pairs, *words;
  Q4Block(const void* plane, std::size_t block, std::size_t head_dim)
      : pairs(static_cast<const std::uint32_t*>(plane) + block * 3 * head_dim),
        words(pairs + head_dim) {}

  static float number(std::uint32_t pair, std::uint32_t code) {
    return static_cast<float>(code) * f32_from_bf16(static_cast<std::uint16_t>(pair)) +
           f32_from_bf16(static_cast<std::uint16_t>(pair >> 16));
  }
  float key(std::size_t row, std::size_t d) const {
    return number(pairs[d], words[d / 8 * kBlock + row] >> 4 * (d % 8) & 15);
  }
  float value(std::size_t row, std::size_t d, std::size_t head_dim) const {
    return number(pairs[d / kQ4ValueDims * kBlock + row],
                  words[row / 8 * head_dim + d] >> 4 * (row % 8) & 15);
  }
};

float key(const AttendArgs& a, std::size_t t, std::size_t d) {
  if (a.format == KvFormat::kQ4) return Q4Block(a.keys, t / kBlock, a.head_dim).key(t % kBlock, d);
  const std::size_t block = t / kBlock * kBlock * a.head_dim, row = t % kBlock;
  if (a.format == KvFormat::kF32)
    return static_cast<const float*>(a.keys)[block + d * kBlock + row];
  if (a.format == KvFormat::kBf16)
    return f32_from_bf16(
        static_cast<const std::uint16_t*>(a.keys)[block + (d / 2 * kBlock + row) * 2 + d % 2]);
  const Q8Block q8(a.keys, t / kBlock, a.head_dim);
  const int code = q8.codes[(d / 4 * kBlock + row) * 4 + d % 4] - 128;
  return q8.key_scale(row, d) * static_cast<float>(code);
}

float value(const AttendArgs& a, std::size_t t, std::size_t d) {
  const std::size_t row = t % kBlock;
  if (a.format == KvFormat::kQ4)
    return Q4Block(a.values, t / kBlock, a.head_dim).value(row, d, a.head_dim);
  if (a.format == KvFormat::kF32) return static_cast<const float*>(a.values)[t * a.head_dim + d];
  if (a.format == KvFormat::kBf16)
    return f32_from_bf16(
        static_cast<const std::uint16_t*>(a.values)[(t / 2 * a.head_dim + d) * 2 + t % 2]);
  const Q8Block q8(a.values, t / kBlock, a.head_dim);
  const auto code = static_cast<std::int8_t>(q8.codes[(row / 4 * a.head_dim + d) * 4 + row % 4]);
  return q8.scales[row] * static_cast<float>(code);
}

void attend(const AttendArgs& a) {
  for (std::size_t r = 0; r < a.n_rows; ++r) {
    float* acc = a.acc + r * a.head_dim;
    for (std::size_t t = a.begin[r]; t < a.end[r]; ++t) {
      if (a.hidden && a.hidden[t]) continue;
      const std::size_t at = t - a.first_block * kBlock;
      double score = 0.0;
      for (std::size_t d = 0; d < a.head_dim; ++d) {
        score += static_cast<double>(a.q[r * a.head_dim + d]) * key(a, at, d);
      }
      for (std::size_t d = 0; a.sway && d < a.head_dim; ++d)
        score += static_cast<double>(a.sway[r * a.head_dim + d]) *
                 a.waves[d * a.wave_stride + t / kBlock];
      const bool finite = std::isfinite(static_cast<float>(score));
      if (a.softcap != 0.0f) score = a.softcap * std::tanh(score / a.softcap);
      if (a.slope)
        score += static_cast<double>(a.slope[r]) * (a.origin[r] + static_cast<double>(t));
      // Minus infinity would weigh nothing, and a cap would hide any: both are faults.
      const float s = finite && std::isfinite(static_cast<float>(score))
                          ? static_cast<float>(score)
                          : std::numeric_limits<float>::quiet_NaN();
      const float m = std::max(a.max[r], s);
      const float correction = std::exp(a.max[r] - m);
      const float p = std::exp(s - m);
      a.max[r] = m;
      a.sum[r] = a.sum[r] * correction + p;
      for (std::size_t d = 0; d < a.head_dim; ++d)
        acc[d] = acc[d] * correction + p * value(a, at, d);
    }
  }
}

void rms_norm(const float* x, const float* weight, std::size_t n, float eps, float* y) {
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * x[i];
  const double scale = 1.0 / std::sqrt(sum / static_cast<double>(n) + eps);
  for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<float>(x[i] * scale * weight[i]);
}

void rotate(const float* x, const float* cos, const float* sin, std::size_t half, float scale,
            float* y) {
  for (std::size_t i = 0; i < half; ++i) {
    const double a = x[i], b = x[i + half];
    y[i] = static_cast<float>((a * cos[i] - b * sin[i]) * scale);
    y[i + half] = static_cast<float>((b * cos[i] + a * sin[i]) * scale);
  }
}

void layer_norm(const float* x, const float* weight, const float* bias, std::size_t n, float eps,
                float* y) {
  double mean = 0.0, square = 0.0;
  for (std::size_t i = 0; i < n; ++i) mean += x[i];
  mean /= static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) square += (x[i] - mean) * (x[i] - mean);
  const double scale = 1.0 / std::sqrt(square / static_cast<double>(n) + eps);
  for (std::size_t i = 0; i < n; ++i)
    y[i] = static_cast<float>((x[i] - mean) * scale * weight[i] + (bias ? bias[i] : 0.0f));
}

// Tails keep their digits: nothing is taken from 1.
double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::kSilu:
      return x / (1.0 + std::exp(-x));
    case Activation::kGelu:
      return x / 2 * std::erfc(-x / std::numbers::sqrt2);
    case Activation::kGeluTanh:  // 1 + tanh(u) = 2 / (1 + exp(-2u))
      return x /
             (1.0 + std::exp(-2 * std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::kClampedSwiglu: {
      const double cut = x > static_cast<double>(kSwigluLimit) ? kSwigluLimit : x;
      return cut / (1.0 + std::exp(-static_cast<double>(kSwigluAlpha) * cut));
    }
    case Activation::kLogistic:
      return 1.0 / (1.0 + std::exp(-x));
    case Activation::kReluSquared:
      return x < 0 ? 0.0 : x * x;
  }
  return 0.0;
}

// What multiplies it. Comparisons, so that NaN stays what it is.
float factor_of(Activation activation, float up) {
  if (activation != Activation::kClampedSwiglu) return up;
  return (up > kSwigluLimit ? kSwigluLimit : up < -kSwigluLimit ? -kSwigluLimit : up) + 1.0f;
}

void activate(Activation activation, float* x, const float* up, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    x[i] = static_cast<float>(activated(activation, x[i]) *
                              (up ? factor_of(activation, up[i]) : 1.0f));
}

void add(const float* x, float scale, std::size_t n, float* y) {
  for (std::size_t i = 0; i < n; ++i)
    y[i] = static_cast<float>(y[i] + static_cast<double>(scale) * x[i]);
}

// One token after the other, as it is defined.
void recur(const RecurArgs& a) {
  const std::size_t numbers = state_numbers(a.d_k, a.d_v);
  if (a.after != a.before) std::copy_n(a.before, numbers, a.after);
  for (std::size_t t = 0; t < a.n; ++t) {
    const float* const k = a.k + t * a.key_stride;
    const double decay = a.decay[t * a.scalar_stride], write = a.write[t * a.scalar_stride];
    for (std::size_t c = 0; c < a.d_v; ++c) {
      float* const column = a.after + c / kStateColumns * kStateColumns * a.d_k + c % kStateColumns;
      double predicted = 0, read = 0;
      for (std::size_t r = 0; a.corrects && r < a.d_k; ++r)
        predicted += decay * column[r * kStateColumns] * k[r];
      const double v = a.v ? a.v[t * a.value_stride + c] : 0.0f, w = write * (v - predicted);
      for (std::size_t r = 0; r < a.d_k; ++r) {
        const double now = decay * column[r * kStateColumns] + k[r] * w;
        column[r * kStateColumns] = static_cast<float>(now);
        if (a.y) read += now * a.q[t * a.key_stride + r];
      }
      if (a.y) a.y[t * a.y_stride + c] = static_cast<float>(read);
    }
  }
}

void map_state(const float* map, const float* add, std::size_t d_k, std::size_t d_v,
               const float* before, float* after) {
  std::array<double, kMaxStateKeyDim> made;
  for (std::size_t at = 0, end = state_numbers(d_k, d_v); at < end; at += d_k * kStateColumns) {
    for (std::size_t c = 0; c < kStateColumns; ++c) {
      const std::size_t column = at + c;
      for (std::size_t i = 0; i < d_k; ++i) {
        made[i] = add ? add[column + i * kStateColumns] : 0.0f;
        for (std::size_t j = 0; j < d_k; ++j)
          made[i] += static_cast<double>(map[j * d_k + i]) * before[column + j * kStateColumns];
      }
      for (std::size_t i = 0; i < d_k; ++i)
        after[column + i * kStateColumns] = static_cast<float>(made[i]);
    }
  }
}

void convolve(const float* const* inputs, const float* weights, const float* bias,
              std::size_t n_taps, std::size_t n, float* y) {
  for (std::size_t c = 0; c < n; ++c) {
    double sum = bias ? bias[c] : 0.0f;
    for (std::size_t j = 0; j < n_taps; ++j)
      sum += static_cast<double>(weights[j * n + c]) * inputs[j][c];
    y[c] = static_cast<float>(sum);
  }
}

void to_f32(const void* src, Type type, std::size_t n, float* dst) {
  for (std::size_t i = 0; i < n; ++i) dst[i] = element(src, type, i);
}

void to_bf16(const float* src, std::size_t n, std::uint16_t* dst) {
  for (std::size_t i = 0; i < n; ++i) dst[i] = bf16_from_f32(src[i]);
}

bool all_finite(const void* src, Type type, std::size_t n) {
  if (is_quantised(type)) return scales_finite(src, type, n);
  for (std::size_t i = 0; i < n; ++i)
    if (!std::isfinite(element(src, type, i))) return false;
  return true;
}

}  // namespace

const Kernels kScalarKernels = {"scalar", matmul,     attend,          rms_norm,
                                rotate,   layer_norm, activate,        add,
                                recur,    map_state,  convolve,        to_f32,
                                to_bf16,  all_finite, quantise_scalar, matmul_packed_scalar};

}  // namespace pc::simd
