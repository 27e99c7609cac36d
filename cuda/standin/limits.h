// What a launch may ask for at most: of compute capability 9.0.
//
// Constants.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pc::cuda::standin {

inline constexpr std::size_t kUnaskedShared = 48 << 10;  // without cudaFuncSetAttribute()
inline constexpr std::size_t kMostShared = 227 << 10;
inline constexpr std::uint32_t kMostBlockZ = 64;
inline constexpr std::uint32_t kMostGridX = INT32_MAX;
inline constexpr std::uint32_t kMostGridYZ = 65535;

}  // namespace pc::cuda::standin
