// The reference table: what each kernel means, in plain loops. The wide sums
// are taken in double, so that a disagreement is the other side's rounding.

#include <cmath>
#include <limits>

#include "simd/kernels.h"

namespace pc::simd {
namespace {

constexpr std::size_t kBlock = 16;  // tokens a packed block: modules/kv.h

float f32_from_f16(std::uint16_t h) {
  const int exponent = h >> 10 & 31;
  const int mantissa = h & 1023;
  float magnitude;
  if (exponent == 0)
    magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  else if (exponent == 31)
    magnitude =
        mantissa ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
  else
    magnitude = std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return h & 0x8000 ? -magnitude : magnitude;
}

float element(const void* data, Type type, std::size_t i) {
  switch (type) {
    case Type::kF32:
      return static_cast<const float*>(data)[i];
    case Type::kF16:
      return f32_from_f16(static_cast<const std::uint16_t*>(data)[i]);
    case Type::kBf16:
      return f32_from_bf16(static_cast<const std::uint16_t*>(data)[i]);
  }
  return 0.0f;
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
float key(const AttendArgs& a, std::size_t t, std::size_t d) {
  const std::size_t block = t / kBlock * kBlock * a.head_dim;
  if (!a.bf16) return static_cast<const float*>(a.keys)[block + d * kBlock + t % kBlock];
  return f32_from_bf16(
      static_cast<const std::uint16_t*>(a.keys)[block + (d / 2 * kBlock + t % kBlock) * 2 + d % 2]);
}

float value(const AttendArgs& a, std::size_t t, std::size_t d) {
  if (!a.bf16) return static_cast<const float*>(a.values)[t * a.head_dim + d];
  return f32_from_bf16(
      static_cast<const std::uint16_t*>(a.values)[(t / 2 * a.head_dim + d) * 2 + t % 2]);
}

void attend(const AttendArgs& a) {
  for (std::size_t r = 0; r < a.n_rows; ++r) {
    float* acc = a.acc + r * a.head_dim;
    for (std::size_t t = a.begin[r]; t < a.end[r]; ++t) {
      double score = 0.0;
      for (std::size_t d = 0; d < a.head_dim; ++d) {
        score += static_cast<double>(a.q[r * a.head_dim + d]) * key(a, t, d);
      }
      const float s = static_cast<float>(score);
      const float m = std::max(a.max[r], s);
      const float correction = std::exp(a.max[r] - m);
      const float p = std::exp(s - m);
      a.max[r] = m;
      a.sum[r] = a.sum[r] * correction + p;
      for (std::size_t d = 0; d < a.head_dim; ++d)
        acc[d] = acc[d] * correction + p * value(a, t, d);
    }
  }
}

void rms_norm(const float* x, const float* weight, std::size_t n, float eps, float* y) {
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * x[i];
  const float scale = static_cast<float>(1.0 / std::sqrt(sum / static_cast<double>(n) + eps));
  for (std::size_t i = 0; i < n; ++i) y[i] = x[i] * scale * weight[i];
}

void rotate(const float* x, const float* cos, const float* sin, std::size_t half, float scale,
            float* y) {
  for (std::size_t i = 0; i < half; ++i) {
    const float a = x[i], b = x[i + half];
    y[i] = (a * cos[i] - b * sin[i]) * scale;
    y[i + half] = (b * cos[i] + a * sin[i]) * scale;
  }
}

void silu_mul(float* gate, const float* up, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) gate[i] = gate[i] / (1.0f + std::exp(-gate[i])) * up[i];
}

void add(const float* x, std::size_t n, float* y) {
  for (std::size_t i = 0; i < n; ++i) y[i] += x[i];
}

void to_f32(const void* src, Type type, std::size_t n, float* dst) {
  for (std::size_t i = 0; i < n; ++i) dst[i] = element(src, type, i);
}

void to_bf16(const float* src, std::size_t n, std::uint16_t* dst) {
  for (std::size_t i = 0; i < n; ++i) dst[i] = bf16_from_f32(src[i]);
}

}  // namespace

const Kernels kScalarKernels = {"scalar", matmul, attend, rms_norm, rotate,
                                silu_mul, add,    to_f32, to_bf16};

}  // namespace pc::simd
