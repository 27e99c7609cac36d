// What every call of the runtime begins and ends with: planned failures, and each OS thread's last
// error.
//
// Of the process; any thread.
#pragma once

#include "cuda/standin/runtime.h"

namespace pc::cuda::standin {

// Counts a call: why it must fail, if it must (fail_after, or no device).
cudaError_t begin_call();
// The same, but that there need not be a device.
cudaError_t begin_call_without_device();
// Remembers an error; returns what it is given.
cudaError_t end_call(cudaError_t error);

int device_count();

// What each call is: end_call(begin_call() or else body()).
template <class Body>
cudaError_t call(Body&& body) {
  const cudaError_t refused = begin_call();
  return end_call(refused == cudaSuccess ? body() : refused);
}

}  // namespace pc::cuda::standin
