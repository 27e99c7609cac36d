#include "runtime/kv_row.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "simd/kernels.h"  // bf16_from_f32, kLeastScale

namespace pc {
namespace {

void write_f32(std::uint32_t hd, std::uint32_t t, const float* key, const float* value,
               std::byte* key_block, std::byte* value_block) {
  auto* k = reinterpret_cast<float*>(key_block) + t;
  for (std::size_t d = 0; d < hd; ++d) k[d * kKvBlockTokens] = key[d];
  std::memcpy(reinterpret_cast<float*>(value_block) + std::size_t{t} * hd, value,
              hd * sizeof(float));
}

void write_bf16(std::uint32_t hd, std::uint32_t t, const float* key, const float* value,
                std::byte* key_block, std::byte* value_block) {
  auto* k = reinterpret_cast<std::uint16_t*>(key_block) + 2 * t;
  for (std::size_t d = 0; d < hd; d += 2) {
    k[d * kKvBlockTokens] = simd::bf16_from_f32(key[d]);
    k[d * kKvBlockTokens + 1] = simd::bf16_from_f32(key[d + 1]);
  }
  auto* v = reinterpret_cast<std::uint16_t*>(value_block) + std::size_t{t / 2} * 2 * hd + t % 2;
  for (std::size_t d = 0; d < hd; ++d) v[2 * d] = simd::bf16_from_f32(value[d]);
}

struct Q8Scale {
  float scale = 0.0f, inverse = 0.0f;
  bool finite = true;

  Q8Scale(const float* x, std::size_t n) {
    float top = 0.0f, broken = 0.0f;
    for (std::size_t i = 0; i < n; ++i) {
      top = std::max(top, std::fabs(x[i]));
      broken += x[i] * 0.0f;  // NaN for NaN and for infinity
    }
    finite = broken == 0.0f;
    if (finite && top >= simd::kLeastScale) {
      scale = top / 127.0f;
      inverse = 127.0f / top;
    }
  }

  // The nearest integer: 1.5 * 2^23 leaves a float no fraction, and its low byte is the code.
  std::uint8_t code(float x) const {
    const float cut = inverse == 0.0f ? 0x1.8p23f : x * inverse + 0x1.8p23f;
    std::uint32_t bits;
    std::memcpy(&bits, &cut, sizeof bits);
    return static_cast<std::uint8_t>(bits);
  }
};

void write_q8(std::uint32_t hd, std::uint32_t t, const float* key, const float* value,
              std::byte* key_block, std::byte* value_block) {
  Q8Scale of_key(key, hd);
  const Q8Scale of_value(value, hd);
  if (!of_key.finite || !of_value.finite) of_key.scale = std::numeric_limits<float>::quiet_NaN();
  reinterpret_cast<float*>(key_block)[t] = of_key.scale;
  reinterpret_cast<float*>(value_block)[t] = of_value.scale;
  constexpr std::size_t kScaleBytes = kKvBlockTokens * sizeof(float);
  auto* k = reinterpret_cast<std::uint8_t*>(key_block + kScaleBytes) + 4 * t;
  for (std::size_t d = 0; d < hd; ++d)
    k[d / 4 * 4 * kKvBlockTokens + d % 4] = of_key.code(key[d]) ^ 0x80;  // plus 128
  auto* v = reinterpret_cast<std::uint8_t*>(value_block + kScaleBytes) +
            std::size_t{t / 4} * 4 * hd + t % 4;
  for (std::size_t d = 0; d < hd; ++d) v[4 * d] = of_value.code(value[d]);
}

}  // namespace

void write_kv_row(const KvGeometry& geometry, std::uint32_t token, const float* key,
                  const float* value, std::byte* key_block, std::byte* value_block) {
  const auto write = geometry.type == KvType::kF32    ? write_f32
                     : geometry.type == KvType::kBf16 ? write_bf16
                                                      : write_q8;
  write(geometry.head_dim, token, key, value, key_block, value_block);
}

}  // namespace pc
