// What tests set: which devices there are, how much memory, when queued work is carried out, and
// which call fails.
//
// Of the process; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/standin/runtime.h"

namespace pc::cuda::standin {

inline constexpr std::size_t kMemoryLimit = std::size_t{8} << 30;

void set_device_count(int count);  // 1 at first
// Of all devices together; kMemoryLimit at first. Further cudaMalloc()s are refused.
void set_memory_limit(std::size_t bytes);
std::size_t allocated_bytes();
std::size_t allocated_host_bytes();  // by cudaMallocHost()

// When what calls queue is carried out: as late as CUDA allows (cuda/standin/runtime.h), or before
// the call returns, as on a device that is always faster than the host.
enum class Order { kLate, kAtOnce };
void set_order(Order order);  // kLate at first; waits for what is queued

// The n-th call of the runtime, of cuBLAS or of launch() from now (1: the next) and all that
// follow return the error and do nothing, but that memory, streams and events are still freed, and
// what was queued before is carried out first: as on a device that is lost. cudaGetLastError() and
// cudaPeekAtLastError() return it from then on and are not counted.
void fail_after(std::uint64_t n, cudaError_t error);
void heal();
// Of the calls that fail_after() counts, since the process began.
std::uint64_t counted_calls();
// How many of them waited for a stream (cudaStreamSynchronize).
std::uint64_t counted_waits();

}  // namespace pc::cuda::standin
