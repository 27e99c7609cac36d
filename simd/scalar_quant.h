// What blocks of quantised weights mean, one element at a time: the reference
// for simd/quant-inl.h, equal bit for bit to gguf-py's dequantize.
//
// Pure functions. Blocks are read byte by byte: no alignment.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/types.h"

namespace pc::simd {

float f32_from_f16(std::uint16_t half);

// Element i of the blocks at `data`.
float quantised_element(const void* data, Type type, std::size_t i);

// No scale or minimum of n elements' blocks is an infinity, NaN or so large that an element could
// be infinite. The scales within a block are integers, so that all elements are finite then.
bool scales_finite(const void* data, Type type, std::size_t n);

}  // namespace pc::simd
