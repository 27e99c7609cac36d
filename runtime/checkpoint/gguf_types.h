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
    GgufTensorType{16, "IQ2_XXS", 256, 66},
    GgufTensorType{17, "IQ2_XS", 256, 74},
    GgufTensorType{18, "IQ3_XXS", 256, 98},
    GgufTensorType{19, "IQ1_S", 256, 50},
    GgufTensorType{20, "IQ4_NL", 32, 18},
    GgufTensorType{21, "IQ3_S", 256, 110},
    GgufTensorType{22, "IQ2_S", 256, 82},
    GgufTensorType{23, "IQ4_XS", 256, 136},
    GgufTensorType{24, "I8", 1, 1},
    GgufTensorType{25, "I16", 1, 2},
    GgufTensorType{26, "I32", 1, 4},
    GgufTensorType{27, "I64", 1, 8},
    GgufTensorType{28, "F64", 1, 8},
    GgufTensorType{29, "IQ1_M", 256, 56},
    computed_tensor_type(30, simd::Type::kBf16),
    GgufTensorType{31, "Q4_0_4_4", 32, 18},
    GgufTensorType{32, "Q4_0_4_8", 32, 18},
    GgufTensorType{33, "Q4_0_8_8", 32, 18},
    GgufTensorType{34, "TQ1_0", 256, 54},
    GgufTensorType{35, "TQ2_0", 256, 66},
    GgufTensorType{39, "MXFP4", 32, 17},
    GgufTensorType{40, "NVFP4", 64, 36},
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
