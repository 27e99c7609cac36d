// Sums and maxima over the threads of a warp and of a block. Device code; every thread takes part,
// and gets the result.
#pragma once

#include "cuda/device/device.h"

namespace pc::cuda {

__device__ inline float warp_sum(float x) {
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(kEveryLane, x, offset);
  return x;
}

__device__ inline float warp_max(float x) {
  for (int offset = 16; offset > 0; offset /= 2)
    x = fmaxf(x, __shfl_xor_sync(kEveryLane, x, offset));
  return x;
}

// scratch: [kWarp] in shared memory, free again behind the call.
template <class Combine>
__device__ float block_reduce(float x, float* scratch, Combine combine) {
  x = combine(x);
  const unsigned warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  if (lane == 0) scratch[warp] = x;
  __syncthreads();
  x = scratch[lane % (blockDim.x / kWarp)];
  __syncthreads();
  return x;
}

// blockDim.x: a power of two of warps.
__device__ inline float block_sum(float x, float* scratch) {
  x = block_reduce(x, scratch, warp_sum);
  const unsigned n = blockDim.x / kWarp;
  for (unsigned offset = n / 2; offset > 0; offset /= 2)
    x += __shfl_xor_sync(kEveryLane, x, static_cast<int>(offset));
  return x;
}

__device__ inline float block_max(float x, float* scratch) {
  x = block_reduce(x, scratch, warp_max);
  const unsigned n = blockDim.x / kWarp;
  for (unsigned offset = n / 2; offset > 0; offset /= 2)
    x = fmaxf(x, __shfl_xor_sync(kEveryLane, x, static_cast<int>(offset)));
  return x;
}

}  // namespace pc::cuda
