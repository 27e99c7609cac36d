// Elements of rows of K/V as numbers. Device code.
#pragma once

#include "cuda/device/numbers.h"
#include "cuda/states/kv_rows.h"

namespace pc::cuda {

__device__ inline float key_number(const KvShape& shape, const std::byte* row, std::uint32_t d) {
  if (shape.type == KvType::kF32) return reinterpret_cast<const float*>(row)[d];
  if (shape.type == KvType::kBf16) return from_bf16(reinterpret_cast<const std::uint16_t*>(row)[d]);
  const auto* scales = reinterpret_cast<const std::uint16_t*>(row + scales_at(shape.head_dim));
  return from_bf16(scales[d / kScaleDims]) *
         static_cast<float>(reinterpret_cast<const std::int8_t*>(row)[d]);
}

__device__ inline float value_number(const KvShape& shape, const std::byte* row, std::uint32_t d) {
  if (shape.type != KvType::kQ8) return key_number(shape, row, d);
  return *reinterpret_cast<const float*>(row + scales_at(shape.head_dim)) *
         static_cast<float>(reinterpret_cast<const std::int8_t*>(row)[d]);
}

}  // namespace pc::cuda
