// K and V as they lie on the device: a row for each token of each head, whatever a module's file
// packs (modules/kv.h; docs/CUDA.md has the layouts side by side). Of q4 modules rows are bf16.
//
//   f32   head_dim x f32
//   bf16  head_dim x bf16
//   q8    head_dim x i8, then scales: of a key one bf16 for each 32 dimensions, of a value one f32
//
// A row begins on 16 bytes, so that kernels load 16 at a time. Keys are rotated at their module's
// own positions, as in files. Planes: [n_layers][n_kv_heads]{keys [room], values [room]}.
// Constant data; host and device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/device/device.h"

namespace pc::cuda {

// The numbers of KvType (modules/kv.h).
enum class KvType : std::uint32_t { kF32 = 1, kBf16 = 2, kQ8 = 3, kQ4 = 4 };

// Dimensions of a q8 key that share a scale (modules/kv.h).
inline constexpr std::uint32_t kScaleDims = 32;

// Tokens of a block of a module's file (modules/kv.h).
inline constexpr std::uint32_t kFileBlockTokens = 16;

__host__ __device__ constexpr std::uint32_t round_up(std::uint32_t n, std::uint32_t granule) {
  return (n + granule - 1) / granule * granule;
}

// Byte of a q8 row at which its scales begin.
__host__ __device__ constexpr std::uint32_t scales_at(std::uint32_t head_dim) {
  return round_up(head_dim, 4);
}

// And the byte behind them. Up to the row's end zeros follow, which are loaded and mean nothing.
__host__ __device__ constexpr std::uint32_t scales_end(std::uint32_t head_dim, bool values) {
  const std::uint32_t key_scales = 2 * ((head_dim + kScaleDims - 1) / kScaleDims);
  return scales_at(head_dim) + (values ? 4 : key_scales);
}

__host__ __device__ constexpr std::uint32_t row_bytes(KvType type, std::uint32_t head_dim) {
  const std::uint32_t of_key = scales_end(head_dim, false), of_value = scales_end(head_dim, true);
  const std::uint32_t bytes = type == KvType::kF32    ? 4 * head_dim
                              : type == KvType::kBf16 ? 2 * head_dim
                                                      : (of_key < of_value ? of_value : of_key);
  return round_up(bytes, 16);
}

// What lies where, of one head after the other and one layer after the other.
struct KvShape {
  KvType type;  // of rows: not kQ4
  std::uint32_t n_layers, n_kv_heads, head_dim;
  KvType stored = type;  // of modules' files: that, or kQ4 of bf16

  __host__ __device__ std::uint32_t row() const { return row_bytes(type, head_dim); }
  // Of one plane of `room` tokens; of all of them.
  __host__ __device__ std::size_t plane_bytes(std::uint32_t room) const {
    return std::size_t{room} * row();
  }
  __host__ __device__ std::size_t layer_bytes(std::uint32_t room) const {
    return 2 * plane_bytes(room) * n_kv_heads;
  }
  __host__ __device__ std::size_t bytes(std::uint32_t room) const {
    return layer_bytes(room) * n_layers;
  }
};

// Rows of a plane of keys or of values, for a layer and a head: from planes of `room` tokens.
struct KvPlanesView {
  std::byte* data;  // layer 0, head 0, keys, row 0
  std::uint32_t room;

  __host__ __device__ std::byte* keys(const KvShape& shape, std::uint32_t layer,
                                      std::uint32_t head) const {
    return data + layer * shape.layer_bytes(room) + 2 * head * shape.plane_bytes(room);
  }
  __host__ __device__ std::byte* values(const KvShape& shape, std::uint32_t layer,
                                        std::uint32_t head) const {
    return keys(shape, layer, head) + shape.plane_bytes(room);
  }
};

}  // namespace pc::cuda
