// Attention with AVX512_BF16's and VNNI's dot products spelled out, on AMX's tiles by
// their stand-in, without either, and the walk's exponential, for each instruction set that this
// CPU runs: what a machine without the instructions can test of the code around them.
#pragma once

#include <cstddef>
#include <vector>

#include "simd/kernels.h"

namespace pc::simd {

struct AttendStandIn {
  const char* name;
  std::size_t lanes;  // pairs and quads are multiplied where these divide head_dim; 0: never
  void (*attend)(const AttendArgs& args);
  void (*attend_signed)(const AttendArgs& args);  // quads of signed bytes alone
  void (*attend_tiles)(const AttendArgs& args);   // pairs alone, if 32 divides head_dim
  void (*attend_widened)(const AttendArgs& args);
  // n a multiple of 16
  void (*exp_negative)(const float* x, std::size_t n, float* y);
  void (*exp_coarse)(const float* x, std::size_t n, float* y);
};

std::vector<AttendStandIn> attend_stand_ins();

}  // namespace pc::simd
