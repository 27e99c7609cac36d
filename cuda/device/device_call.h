// What CUDA says, as a Status: errors name the call and CUDA's own reason.
//
// A device that is out of memory is kOutOfMemory; everything else that goes wrong while it works
// is kIo, and lasts: after such an error CUDA answers every call with it.
#pragma once

#include <string>

#include "base/status.h"
#include "cuda/device/device.h"

namespace pc::cuda {

inline Status check(cudaError_t result, const char* doing) {
  if (result == cudaSuccess) return ok();
  const bool memory = result == cudaErrorMemoryAllocation;
  if (memory) cudaGetLastError();  // this one does not last
  return error(
      memory ? Code::kOutOfMemory : Code::kIo,
      std::string("the CUDA device failed while ") + doing + ": " + cudaGetErrorString(result));
}

// Of page-locked memory: whatever stands in the way, the device works on, unless it is lost.
inline Status check_locked(cudaError_t result) {
  if (result == cudaSuccess) return ok();
  cudaGetLastError();  // this one does not last, and a lost device's does
  const cudaError_t lasts = cudaPeekAtLastError();
  if (lasts != cudaSuccess) return check(lasts, "taking page-locked memory");
  return error(Code::kOutOfMemory, cudaGetErrorString(result));
}

// Of a Status or a Result: was there no memory left?
template <class Outcome>
bool is_full(const Outcome& outcome) {
  return !outcome.ok() && outcome.error().code == Code::kOutOfMemory;
}

// What went wrong in launches since the last call.
inline Status check_launches(const char* doing) {
  return check(cudaGetLastError(), doing);
}

inline Status check(cublasStatus_t result, const char* doing) {
  if (result == CUBLAS_STATUS_SUCCESS) return ok();
  const bool memory = result == CUBLAS_STATUS_ALLOC_FAILED;
  return error(memory ? Code::kOutOfMemory : Code::kIo,
               std::string("cuBLAS failed while ") + doing + ": " + cublasGetStatusString(result));
}

}  // namespace pc::cuda
