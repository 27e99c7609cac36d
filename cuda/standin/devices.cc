#include <cstring>

#include "cuda/standin/calls.h"
#include "cuda/standin/limits.h"
#include "cuda/standin/runtime.h"

namespace pc::cuda::standin {
namespace {
constinit thread_local int device_of_thread = 0;
}  // namespace
}  // namespace pc::cuda::standin

namespace standin = pc::cuda::standin;

cudaError_t cudaGetDeviceCount(int* count) {
  cudaError_t error = standin::begin_call_without_device();
  *count = error == cudaSuccess ? standin::device_count() : 0;
  if (error == cudaSuccess && *count == 0) error = cudaErrorNoDevice;
  return standin::end_call(error);
}

cudaError_t cudaSetDevice(int device) {
  return standin::call([=] {
    if (device < 0 || device >= standin::device_count()) return cudaErrorInvalidDevice;
    standin::device_of_thread = device;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return standin::call([=] {
    *device = standin::device_of_thread;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  std::size_t free = 0, total = 0;
  if (const cudaError_t error = cudaMemGetInfo(&free, &total); error != cudaSuccess) return error;
  if (device < 0 || device >= standin::device_count())
    return standin::end_call(cudaErrorInvalidDevice);
  *properties = {};
  std::strcpy(properties->name, "CUDA stand-in");
  properties->totalGlobalMem = total;
  properties->major = 9;
  properties->minor = 0;
  properties->multiProcessorCount = 132;  // as an H100 has, so that work is split as there
  properties->sharedMemPerBlockOptin = standin::kMostShared;
  return cudaSuccess;
}
