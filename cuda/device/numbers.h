// bf16 and f16 as bits, converted the same way by every compiler: to nearest even.
//
// Pure functions; host and device.
#pragma once

#include <cstdint>
#include <cstring>

#include "cuda/device/device.h"

namespace pc::cuda {

__host__ __device__ inline std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

__host__ __device__ inline float float_of(std::uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

__host__ __device__ inline float from_bf16(std::uint16_t x) {
  return float_of(std::uint32_t{x} << 16);
}

// NaN stays NaN.
__host__ __device__ inline std::uint16_t to_bf16(float x) {
  const std::uint32_t bits = bits_of(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

// Two numbers as a pair of bf16, the first in the low half.
__host__ __device__ inline std::uint32_t to_bf16_pair(float low, float high) {
#ifdef __CUDA_ARCH__
  std::uint32_t pair;  // one instruction for sixteen
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return std::uint32_t{to_bf16(low)} | std::uint32_t{to_bf16(high)} << 16;
#endif
}

// Exact. Subnormal halves are multiples of 2^-24.
__host__ __device__ inline float from_f16(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000u} << 16;
  const std::uint32_t exponent = half >> 10 & 31u, mantissa = half & 1023u;
  if (exponent == 31) return float_of(sign | 0x7f800000u | mantissa << 13);
  if (exponent != 0) return float_of(sign | (exponent + 112) << 23 | mantissa << 13);
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}

}  // namespace pc::cuda
