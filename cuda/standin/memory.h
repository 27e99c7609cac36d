// The allocations of device memory and of pinned host memory, and how they are checked.
//
// Of the process; any thread.
#pragma once

#include <cstddef>

namespace pc::cuda::standin {

// Whether all of [begin, begin + bytes) lies in one allocation of the device.
bool on_device(const void* begin, std::size_t bytes);
// Whether any address of it lies in device memory.
bool touches_device(const void* begin, std::size_t bytes);
// Whether all of it lies in one allocation of cudaMallocHost().
bool is_pinned(const void* begin, std::size_t bytes);

}  // namespace pc::cuda::standin
