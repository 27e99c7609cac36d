// The backend that the oracle suites of the seam compute with: the CPU's, or in programs that are
// built with PC_TEST_CUDA the CUDA plug-in's, on a device or on the stand-in for one.
#pragma once

#include "runtime/backend/backend.h"
#include "tests/support/tiny_model.h"
#ifdef PC_TEST_CUDA
extern "C" const pc_backend_v1* pc_backend_entry_v1(void);
#else
#include "runtime/backend/cpu_backend.h"
#endif

namespace pc::test {

inline const pc_backend_v1* backend_under_test() {
#ifdef PC_TEST_CUDA
  return pc_backend_entry_v1();
#else
  return cpu_backend();
#endif
}

// Any parts that may stand together in a model which it computes.
inline TinyShape random_shape(Random& random) {
  TinyShape shape = TinyShape::random(random);
#ifdef PC_TEST_CUDA  // cuda/backend/check_model.cu
  while (shape.latent != 0) shape = TinyShape::random(random);
  shape.n_experts = shape.d_ple = 0;
  shape.output_scales = shape.query_growth = shape.norms_rotated = false;
  shape.sinks = shape.two_shapes = shape.keys_as_values = shape.norm_values = false;
  shape.n_layers -= shape.n_shared;
  shape.n_shared = 0;
  shape.part_factors = false;
  if (shape.activation > PC_ACTIVATION_GELU_TANH) shape.activation = PC_ACTIVATION_SILU;
#endif
  return shape;
}

// Where each product takes a hundred times as long, fewer of many random cases are enough.
#if defined(PC_EMULATED) || defined(PC_CUDA_STANDIN)
inline constexpr int kFewerCases = 10;
#else
inline constexpr int kFewerCases = 1;
#endif

}  // namespace pc::test
