// How closely products are computed: `--precision`.
#pragma once

#include <cstdint>

namespace pc {

enum class Precision : std::uint32_t {
  // Activations are rounded for the kernels: to 8 bits against packed weights, to bf16
  // where the CPU multiplies that. What a run normally uses.
  kFast = 0,
  // f32 activations throughout, on weights widened exactly (with states of any type:
  // those are a choice of their own, f32 where nothing is said). Nothing is packed.
  kExact = 1,
  // As kFast, but the numbers of a row do not depend on the rows that are computed beside it: sums
  // have one order. A request gets the same tokens alone, in any batch, and in whatever pieces it
  // is computed.
  kDeterministic = 2,
};

// States of another precision are those of another arithmetic: its version is the
// backend's with this bit (modules/module_key.h).
inline constexpr std::uint32_t kExactNumerics = std::uint32_t{1} << 31;
inline constexpr std::uint32_t kDeterministicNumerics = std::uint32_t{1} << 30;

}  // namespace pc
