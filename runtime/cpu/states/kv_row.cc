#include "runtime/cpu/states/kv_row.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/status.h"  // PC_EXPECT
#include "runtime/cpu/states/kv_q4.h"
#include "simd/kernels.h"  // bf16_from_f32, kLeastScale

namespace pc {
namespace {

constexpr std::uint16_t kBf16Nan = 0x7fc0;

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

bool all_finite(const float* x, std::size_t n) {
  float broken = 0.0f;
  for (std::size_t i = 0; i < n; ++i) broken += x[i] * 0.0f;  // NaN for NaN and for infinity
  return broken == 0.0f;
}

// max |x| / 127, and 0 where that is too small to divide by.
float q8_scale(const float* x, std::size_t n) {
  float top = 0.0f;
  for (std::size_t i = 0; i < n; ++i) top = std::max(top, std::fabs(x[i]));
  return top >= simd::kLeastScale ? top / 127.0f : 0.0f;
}

// The next bf16 that is not below a scale, so that no code exceeds 127.
std::uint16_t bf16_above(float scale) {
  std::uint32_t bits;
  std::memcpy(&bits, &scale, sizeof bits);
  return static_cast<std::uint16_t>((bits + 0xffffu) >> 16);
}

// The nearest integer to x / scale: 1.5 * 2^23 leaves a float no fraction, and its low byte is
// the code.
std::uint8_t q8_code(float x, float inverse) {
  const float cut = x * inverse + 0x1.8p23f;
  std::uint32_t bits;
  std::memcpy(&bits, &cut, sizeof bits);
  return static_cast<std::uint8_t>(bits);
}

void write_q8_key(std::uint32_t hd, std::uint32_t t, const float* key, bool finite,
                  std::byte* block) {
  auto* scales = reinterpret_cast<std::uint16_t*>(block) + 2 * t;
  auto* codes = reinterpret_cast<std::uint8_t*>(block + std::size_t{kv_scale_words(hd)} *
                                                            kKvBlockTokens * kKvWordBytes) +
                4 * t;
  for (std::size_t d = 0; d < hd; d += kKvScaleDims) {
    const std::size_t end = std::min<std::size_t>(d + kKvScaleDims, hd), group = d / kKvScaleDims;
    const std::uint16_t scale = finite ? bf16_above(q8_scale(key + d, end - d)) : kBf16Nan;
    scales[group / 2 * 2 * kKvBlockTokens + group % 2] = scale;
    const float inverse = finite && scale != 0 ? 1.0f / simd::f32_from_bf16(scale) : 0.0f;
    for (std::size_t i = d; i < end; ++i)
      codes[i / 4 * 4 * kKvBlockTokens + i % 4] =
          (inverse == 0.0f ? 0 : q8_code(key[i], inverse)) ^ 0x80;  // plus 128
  }
}

void write_q8_value(std::uint32_t hd, std::uint32_t t, const float* value, bool finite,
                    std::byte* block) {
  const float scale = finite ? q8_scale(value, hd) : 0.0f;
  reinterpret_cast<float*>(block)[t] = scale;
  auto* codes = reinterpret_cast<std::uint8_t*>(block + std::size_t{kv_scale_words(hd)} *
                                                            kKvBlockTokens * kKvWordBytes) +
                std::size_t{t / 4} * 4 * hd + t % 4;
  const float inverse = scale == 0.0f ? 0.0f : 1.0f / scale;
  for (std::size_t d = 0; d < hd; ++d)
    codes[4 * d] = inverse == 0.0f ? 0 : q8_code(value[d], inverse);
}

void write_q8(std::uint32_t hd, std::uint32_t t, const float* key, const float* value,
              std::byte* key_block, std::byte* value_block) {
  const bool value_finite = all_finite(value, hd);
  write_q8_key(hd, t, key, value_finite && all_finite(key, hd), key_block);
  write_q8_value(hd, t, value, value_finite, value_block);
}

// Of the token in row t of a block.
void read_value(KvHead g, std::uint32_t t, const std::byte* block, float* value) {
  const std::size_t hd = g.dims;
  if (g.type == KvType::kF32) {
    std::memcpy(value, reinterpret_cast<const float*>(block) + t * hd, hd * sizeof(float));
  } else if (g.type == KvType::kBf16) {
    const auto* v = reinterpret_cast<const std::uint16_t*>(block) + t / 2 * 2 * hd + t % 2;
    for (std::size_t d = 0; d < hd; ++d) value[d] = simd::f32_from_bf16(v[2 * d]);
  } else if (g.type == KvType::kQ4) {
    read_q4_value(g.dims, t, block, value);
  } else {
    const float scale = reinterpret_cast<const float*>(block)[t];
    const auto* codes =
        reinterpret_cast<const std::int8_t*>(block + std::size_t{kv_scale_words(g.dims)} *
                                                         kKvBlockTokens * kKvWordBytes) +
        t / 4 * 4 * hd + t % 4;
    for (std::size_t d = 0; d < hd; ++d) value[d] = scale * static_cast<float>(codes[4 * d]);
  }
}

void read_key(KvHead g, std::uint32_t t, const std::byte* block, float* key) {
  const std::size_t hd = g.dims;
  if (g.type == KvType::kF32) {
    const auto* k = reinterpret_cast<const float*>(block) + t;
    for (std::size_t d = 0; d < hd; ++d) key[d] = k[d * kKvBlockTokens];
  } else if (g.type == KvType::kBf16) {
    const auto* k = reinterpret_cast<const std::uint16_t*>(block) + 2 * t;
    for (std::size_t d = 0; d < hd; ++d)
      key[d] = simd::f32_from_bf16(k[d / 2 * 2 * kKvBlockTokens + d % 2]);
  } else if (g.type == KvType::kQ4) {
    read_q4_key(g.dims, t, block, key);
  } else {
    const auto* scales = reinterpret_cast<const std::uint16_t*>(block) + 2 * t;
    const auto* codes =
        reinterpret_cast<const std::uint8_t*>(block + std::size_t{kv_scale_words(g.dims)} *
                                                          kKvBlockTokens * kKvWordBytes) +
        4 * t;
    for (std::size_t d = 0; d < hd; ++d) {
      const std::size_t group = d / kKvScaleDims;
      const int code = codes[d / 4 * 4 * kKvBlockTokens + d % 4] - 128;
      key[d] = simd::f32_from_bf16(scales[group / 2 * 2 * kKvBlockTokens + group % 2]) *
               static_cast<float>(code);
    }
  }
}

// The first n_rows rows of a block of keys, and of the block of values that lies `values` bytes on.
void repack_block(KvHead from, const std::byte* keys, std::size_t values, KvHead head,
                  std::uint32_t n_rows, std::byte* to, std::size_t to_values) {
  const std::size_t hd = head.dims;
  std::vector<float> k(n_rows * hd), v(n_rows * hd);
  for (std::uint32_t row = 0; row < n_rows; ++row) {
    read_key(from, row, keys, k.data() + row * hd);
    read_value(from, row, keys + values, v.data() + row * hd);
  }
  if (head.type == KvType::kQ4)
    return write_q4_block(head.dims, n_rows, k.data(), v.data(), to, to + to_values);
  for (std::uint32_t row = 0; row < n_rows; ++row)
    write_kv_row(head, row, k.data() + row * hd, v.data() + row * hd, to, to + to_values);
}

}  // namespace

void read_kv_key(const KvSegment& segment, std::uint32_t token, std::uint32_t layer,
                 std::uint32_t head, float* key) {
  const KvHead shape = segment.geometry->head(layer);
  const std::uint32_t row = segment.begin + token;
  read_key(shape, row % kKvBlockTokens,
           segment.keys(layer, head) + row / kKvBlockTokens * shape.block_bytes(), key);
}

void read_kv_values(const KvSegment& segment, std::uint32_t token, std::uint32_t layer,
                    float* values) {
  const KvHead shape = segment.geometry->head(layer);
  const std::uint32_t row = segment.begin + token;
  for (std::uint32_t head = 0; head < segment.geometry->n_kv_heads(layer); ++head)
    read_value(shape, row % kKvBlockTokens,
               segment.values(layer, head) + row / kKvBlockTokens * shape.block_bytes(),
               values + std::size_t{head} * shape.dims);
}

void write_kv_row(KvHead head, std::uint32_t token, const float* key, const float* value,
                  std::byte* key_block, std::byte* value_block) {
  PC_EXPECT(head.type != KvType::kQ4);
  const auto write = head.type == KvType::kF32    ? write_f32
                     : head.type == KvType::kBf16 ? write_bf16
                                                  : write_q8;
  write(head.dims, token, key, value, key_block, value_block);
}

void repack_rows(const KvSegment& segment, std::uint32_t n_tokens, const KvPlanes& planes) {
  PC_EXPECT(segment.begin == 0 && n_tokens <= segment.n_tokens);
  for (std::uint32_t layer = 0; layer < planes.geometry->n_layers(); ++layer) {
    const KvHead from = segment.geometry->head(layer), to = planes.geometry->head(layer);
    for (std::uint32_t head = 0; head < planes.geometry->n_kv_heads(layer); ++head)
      for (std::uint32_t block = 0; block < kv_blocks(n_tokens); ++block)
        repack_block(from, segment.keys(layer, head) + block * from.block_bytes(),
                     segment.plane_bytes(layer), to,
                     std::min(n_tokens - block * kKvBlockTokens, kKvBlockTokens),
                     planes.keys(layer, head) + block * to.block_bytes(),
                     planes.plane_bytes(layer));
  }
}

}  // namespace pc
