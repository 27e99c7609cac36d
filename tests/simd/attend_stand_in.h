// The bf16 path of attention with AVX512_BF16's dot product spelled out, and the
// walk's exponential, for each instruction set that this CPU runs: what a machine
// without the instruction can test of the code around it.
#pragma once

#include <cstddef>
#include <vector>

#include "simd/kernels.h"

namespace pc::simd {

struct AttendStandIn {
  const char* name;
  std::size_t lanes;  // pairs are multiplied where these divide head_dim; 0: never
  void (*attend)(const AttendArgs& args);
  // n a multiple of 16
  void (*exp_negative)(const float* x, std::size_t n, float* y);
  void (*exp_coarse)(const float* x, std::size_t n, float* y);
};

std::vector<AttendStandIn> attend_stand_ins();

}  // namespace pc::simd
