// The CPU behind the backend seam: a table of C functions over Transformer.
#pragma once

#include <cstdint>

#include "runtime/backend/backend.h"

namespace pc {

// Version of the CPU's arithmetic (pc_backend_v1::numerics_version). Raised when a kernel
// changes K or V beyond the tolerance stated in its tests, so that no run mixes states
// of two arithmetics. Instruction sets share a version: they differ by rounding,
// as bf16 states themselves do (docs/adr/0015-attention-kernels.md).
//   1  products and attention in f32
//   2  activations in 8 bits against quantised weights; attention's queries and
//      weights in bf16 where pairs of bf16 are multiplied, in 8 bits (weights in 7
//      without VNNI) where bytes of q8 states are
//   3  activations of arguments beyond 88 are numbers, and the right ones
//   4  no token is left out where a pass of several runs is computed in pieces
inline constexpr std::uint32_t kCpuNumericsVersion = 4;

// Static, never null.
const pc_backend_v1* cpu_backend();

}  // namespace pc
