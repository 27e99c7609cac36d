#include <new>

#include "cuda/standin/calls.h"
#include "cuda/standin/runtime.h"

struct CUstream_st {};
struct CUevent_st {};

namespace pc::cuda::standin {
namespace {

template <class Object>
cudaError_t create(Object** object) {
  return call([=] {
    if (!object) return cudaErrorInvalidValue;
    *object = new (std::nothrow) Object;
    return *object ? cudaSuccess : cudaErrorMemoryAllocation;
  });
}

// Also where calls fail.
template <class Object>
cudaError_t destroy(Object* object) {
  const cudaError_t refused = begin_call();
  delete object;
  return end_call(refused);
}

cudaError_t done() {
  return call([] { return cudaSuccess; });
}

}  // namespace
}  // namespace pc::cuda::standin

namespace standin = pc::cuda::standin;

cudaError_t cudaDeviceSynchronize() {
  return standin::done();
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return standin::create(stream);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return standin::destroy(stream);
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return standin::done();
}
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) {
  return standin::done();
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return standin::create(event);
}
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) {
  return standin::done();
}
cudaError_t cudaEventSynchronize(cudaEvent_t) {
  return standin::done();
}
cudaError_t cudaEventQuery(cudaEvent_t) {
  return standin::done();
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return standin::destroy(event);
}
