#include "cuda/standin/runtime.h"

namespace pc::cuda::standin {
namespace {

struct ErrorText {
  cudaError_t error;
  const char *name, *sentence;
};
constexpr ErrorText kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};
constexpr ErrorText kUnrecognized{cudaErrorUnknown, "unrecognized error code",
                                  "unrecognized error code"};

const ErrorText& text_of(cudaError_t error) {
  for (const ErrorText& text : kErrors)
    if (text.error == error) return text;
  return kUnrecognized;
}

}  // namespace
}  // namespace pc::cuda::standin

namespace standin = pc::cuda::standin;

const char* cudaGetErrorName(cudaError_t error) {
  return standin::text_of(error).name;
}
const char* cudaGetErrorString(cudaError_t error) {
  return standin::text_of(error).sentence;
}
