// The types of a GGUF file's tensors: their numbers, names and blocks.
//
// Constant data.
#pragma once

#include <array>
#include <cstdint>

#include "simd/types.h"

namespace pc {

struct GgufTensorType {
  std::uint32_t id;
  const char* name;
  std::uint32_t elements, bytes;  // of a block
};

constexpr GgufTensorType computed_tensor_type(std::uint32_t id, simd::Type type) {
  const simd::TypeShape& shape = simd::shape_of(type);
  return {id, shape.name, shape.elements, shape.bytes};
}

// The types that are computed, and those that are only known by name, so that
// the tensor in which one stands can be named.
inline constexpr std::array kGgufTensorTypes{
    computed_tensor_type(0, simd::Type::kF32),
    computed_tensor_type(1, simd::Type::kF16),
    computed_tensor_type(2, simd::Type::kQ4_0),
    computed_tensor_type(3, simd::Type::kQ4_1),
    computed_tensor_type(6, simd::Type::kQ5_0),
    computed_tensor_type(7, simd::Type::kQ5_1),
    computed_tensor_type(8, simd::Type::kQ8_0),
    GgufTensorType{9, "Q8_1", 32, 36},
    computed_tensor_type(10, simd::Type::kQ2_K),
    computed_tensor_type(11, simd::Type::kQ3_K),
    computed_tensor_type(12, simd::Type::kQ4_K),
    computed_tensor_type(13, simd::Type::kQ5_K),
    computed_tensor_type(14, simd::Type::kQ6_K),
    GgufTensorType{15, "Q8_K", 256, 292},
    computed_tensor_type(16, simd::Type::kIQ2_XXS),
    computed_tensor_type(17, simd::Type::kIQ2_XS),
    computed_tensor_type(18, simd::Type::kIQ3_XXS),
    computed_tensor_type(19, simd::Type::kIQ1_S),
    computed_tensor_type(20, simd::Type::kIQ4_NL),
    computed_tensor_type(21, simd::Type::kIQ3_S),
    computed_tensor_type(22, simd::Type::kIQ2_S),
    computed_tensor_type(23, simd::Type::kIQ4_XS),
    GgufTensorType{24, "I8", 1, 1},
    GgufTensorType{25, "I16", 1, 2},
    GgufTensorType{26, "I32", 1, 4},
    GgufTensorType{27, "I64", 1, 8},
    GgufTensorType{28, "F64", 1, 8},
    computed_tensor_type(29, simd::Type::kIQ1_M),
    computed_tensor_type(30, simd::Type::kBf16),
    GgufTensorType{31, "Q4_0_4_4", 32, 18},
    GgufTensorType{32, "Q4_0_4_8", 32, 18},
    GgufTensorType{33, "Q4_0_8_8", 32, 18},
    computed_tensor_type(34, simd::Type::kTQ1_0),
    computed_tensor_type(35, simd::Type::kTQ2_0),
    computed_tensor_type(39, simd::Type::kMXFP4),
    computed_tensor_type(40, simd::Type::kNVFP4),
    GgufTensorType{41, "Q1_0", 128, 18},
};

// Null where the number is not known.
constexpr const GgufTensorType* find_gguf_tensor_type(std::uint32_t id) {
  for (const GgufTensorType& type : kGgufTensorTypes) {
    if (type.id == id) return &type;
  }
  return nullptr;
}

}  // namespace pc
