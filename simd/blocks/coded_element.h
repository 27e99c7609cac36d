// What blocks of the types of simd/blocks/block_codes.h mean, one element at a time: the
// reference for it, equal bit for bit to gguf-py's dequantize.
//
// Pure functions. Blocks are read byte by byte: no alignment.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/types.h"

namespace pc::simd {

// Element i of one block. Precondition: is_coded(type).
float coded_element(const std::uint8_t* block, Type type, std::size_t i);

}  // namespace pc::simd
