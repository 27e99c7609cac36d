// CUDA's language for kernels: qualifiers, what a thread knows of itself, barriers, atomics, the
// functions that the C++ library has not, and how kernels are launched.
//
// Called by kernels' threads, launch() by the host's. `__shared__` is of the OS thread that runs
// the kernel: blocks run one after the other. It is zero once, before the first block there.
#pragma once

#include <math.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cuda/standin/block.h"
#include "cuda/standin/runtime.h"
#include "cuda/standin/vector_types.h"
#include "cuda/standin/warp.h"
#include "cuda/standin/work.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__ static thread_local
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))

#define threadIdx (*::pc::cuda::standin::thread_index)
#define blockIdx (::pc::cuda::standin::block_view->index)
#define blockDim (::pc::cuda::standin::block_view->threads)
#define gridDim (::pc::cuda::standin::block_view->blocks)

// glibc declares some of these names for itself.
#define __expf(x) expf(x)
#define __logf(x) logf(x)
#define __fdividef(x, y) ((x) / (y))

inline void __syncthreads() {
  pc::cuda::standin::meet_block("__syncthreads", false);
}
inline int __syncthreads_or(int predicate) {
  return pc::cuda::standin::meet_block("__syncthreads_or", predicate != 0);
}

inline float rsqrtf(float x) {
  return 1 / sqrtf(x);
}
inline float __uint_as_float(unsigned bits) {
  return std::bit_cast<float>(bits);
}
inline unsigned __float_as_uint(float x) {
  return std::bit_cast<unsigned>(x);
}
inline int __popc(unsigned bits) {
  return std::popcount(bits);
}
template <class T>
T __ldg(const T* from) {
  return *from;
}

#define PC_CUDA_MIN_MAX(A, B, T)                                                          \
  constexpr T min(A a, B b) {                                                             \
    return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(a) : static_cast<T>(b); \
  }                                                                                       \
  constexpr T max(A a, B b) {                                                             \
    return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a); \
  }
PC_CUDA_MIN_MAX(int, int, int)
PC_CUDA_MIN_MAX(unsigned, unsigned, unsigned)
PC_CUDA_MIN_MAX(int, unsigned, unsigned)
PC_CUDA_MIN_MAX(unsigned, int, unsigned)
PC_CUDA_MIN_MAX(long, long, long)
PC_CUDA_MIN_MAX(unsigned long, unsigned long, unsigned long)
PC_CUDA_MIN_MAX(long long, long long, long long)
PC_CUDA_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
PC_CUDA_MIN_MAX(float, float, float)
PC_CUDA_MIN_MAX(double, double, double)
#undef PC_CUDA_MIN_MAX

// Each returns what was there before.
inline float atomicAdd(float* at, float x) {
  return std::atomic_ref(*at).fetch_add(x);
}
inline unsigned atomicAdd(unsigned* at, unsigned x) {
  return std::atomic_ref(*at).fetch_add(x);
}
inline unsigned long long atomicAdd(unsigned long long* at, unsigned long long x) {
  return std::atomic_ref(*at).fetch_add(x);
}
inline unsigned atomicOr(unsigned* at, unsigned bits) {
  return std::atomic_ref(*at).fetch_or(bits);
}

namespace pc::cuda::standin {
template <class T>
T atomic_max(T* at, T x) {
  std::atomic_ref value(*at);
  T was = value.load();
  while (was < x && !value.compare_exchange_weak(was, x)) {
  }
  return was;
}
}  // namespace pc::cuda::standin

inline unsigned atomicMax(unsigned* at, unsigned x) {
  return pc::cuda::standin::atomic_max(at, x);
}
inline int atomicMax(int* at, int x) {
  return pc::cuda::standin::atomic_max(at, x);
}

namespace pc::cuda {
namespace standin {
// Whether a GPU would take the launch; if not, cudaGetLastError() tells.
bool may_launch(const void* kernel, dim3 grid, dim3 block, std::size_t shared_bytes);
// Ends the process where the block has no dynamic shared memory.
void* shared_memory_of_block();
}  // namespace standin

// As cuda/device/device.h has them for a GPU. A launch is checked at once, and run with its
// stream's work.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes,
            cudaStream_t stream, Arguments... arguments) {
  static_assert((std::is_trivially_copyable_v<Parameters> && ...));  // as to a GPU: bytes
  if (!standin::may_launch(reinterpret_cast<const void*>(kernel), grid, block, shared_bytes))
    return;
  auto call = [kernel, ... values = static_cast<Parameters>(arguments)] { kernel(values...); };
  standin::queue(stream, [=]() mutable {
    standin::run_grid({grid, block, shared_bytes,
                       [](void* at) { (*static_cast<decltype(call)*>(at))(); }, &call});
  });
}

template <class T>
T* dynamic_shared() {
  return static_cast<T*>(standin::shared_memory_of_block());
}

inline void copy_async_16(void* shared, const void* global) {
  standin::copies_of_thread().start(shared, global);
}
inline void commit_copies() {
  standin::copies_of_thread().commit();
}
template <int kPending>
void wait_for_copies() {
  standin::copies_of_thread().wait(kPending);
}

}  // namespace pc::cuda
