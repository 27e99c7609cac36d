// Version of this plug-in's arithmetic (pc_backend_v1::numerics_version). Raised when a kernel
// changes K or V beyond the tolerance stated in its tests, so that no run mixes states of two
// arithmetics. Devices share a version: they differ by rounding.
//   1  products as cuda/products/products.h says, attention in bf16 with f32 sums, or in f32
#pragma once

#include <cstdint>

namespace pc::cuda {

inline constexpr std::uint32_t kNumericsVersion = 1;

}  // namespace pc::cuda
