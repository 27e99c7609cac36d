// CUDA as this plug-in uses it, by nvcc or by the stand-in that runs it on the host
// (cuda/standin/standin.h): the runtime, cuBLAS, and what kernels call by other names in each.
//
// Home of the CUDA headers. Kernels are plain CUDA C++: what they may use is what the stand-in
// has. Threads: as CUDA's.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef PC_CUDA_STANDIN
#include "cuda/standin/standin.h"
#else
#include <cublas_v2.h>
#include <cuda_runtime.h>
#endif

namespace pc::cuda {

inline constexpr std::uint32_t kWarp = 32;
inline constexpr std::uint32_t kEveryLane = 0xffffffffu;

#ifndef PC_CUDA_STANDIN

// kernel<<<grid, block, shared_bytes, stream>>>(arguments...)
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes,
            cudaStream_t stream, Arguments... arguments) {
  kernel<<<grid, block, shared_bytes, stream>>>(arguments...);
}

// The block's dynamic shared memory, aligned to 16 bytes.
template <class T>
__device__ T* dynamic_shared() {
  extern __shared__ __align__(16) unsigned char pc_cuda_dynamic_shared[];
  return reinterpret_cast<T*>(pc_cuda_dynamic_shared);
}

// 16 bytes from device memory to shared memory; seen after commit, wait and a barrier.
__device__ inline void copy_async_16(void* shared, const void* global) {
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(to), "l"(global) : "memory");
}
__device__ inline void commit_copies() {
  asm volatile("cp.async.commit_group;\n" ::: "memory");
}
// All but the latest `kPending` groups of this thread's have arrived.
template <int kPending>
__device__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kPending) : "memory");
}

// d += a * b: a [16, 16] and b [16, 8] bf16, d f32, spread over a warp's lanes as PTX's
// mma.m16n8k16 says.
__device__ inline void multiply_tiles(float (&d)[4], const std::uint32_t (&a)[4],
                                      const std::uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Four 8x8 tiles of 16-bit elements: lane i gives the address of row i % 8 of tile i / 8, and
// gets, of each tile, elements 2 * (lane % 4) and the next of row lane / 4; transposed: of
// column lane / 4. As PTX's ldmatrix.
__device__ inline void load_tiles(std::uint32_t (&tiles)[4], const void* row) {
  const auto from = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(tiles[0]), "=r"(tiles[1]), "=r"(tiles[2]), "=r"(tiles[3])
               : "r"(from));
}
__device__ inline void load_tiles_transposed(std::uint32_t (&tiles)[4], const void* row) {
  const auto from = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(tiles[0]), "=r"(tiles[1]), "=r"(tiles[2]), "=r"(tiles[3])
               : "r"(from));
}

#endif

}  // namespace pc::cuda
