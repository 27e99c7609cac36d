#include <atomic>
#include <mutex>
#include <new>
#include <utility>

#include "cuda/standin/calls.h"
#include "cuda/standin/faults.h"
#include "cuda/standin/runtime.h"
#include "cuda/standin/work.h"

namespace standin = pc::cuda::standin;

struct CUevent_st {
  std::mutex mutex;
  standin::Place recorded;  // nothing at first
};

namespace pc::cuda::standin {
namespace {

std::atomic<std::uint64_t> n_waits{0};

Place recorded(CUevent_st& event) {
  std::lock_guard lock(event.mutex);
  return event.recorded;
}

// What each call of an event is.
template <class Body>
cudaError_t call_of(cudaEvent_t event, Body&& body) {
  return call([&] { return event ? body(*event) : cudaErrorInvalidResourceHandle; });
}

}  // namespace

std::uint64_t counted_waits() {
  return n_waits;
}

}  // namespace pc::cuda::standin

cudaError_t cudaDeviceSynchronize() {
  return standin::call([] {
    standin::carry_out_all();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return standin::call([=] {
    if (!stream || flags != cudaStreamNonBlocking) return cudaErrorInvalidValue;
    *stream = standin::make_stream();
    return cudaSuccess;
  });
}

// Also where calls fail.
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const cudaError_t refused = standin::begin_call();
  const bool known = stream && standin::is_stream(stream);
  if (known) standin::end_stream(stream);
  return standin::end_call(refused != cudaSuccess ? refused
                           : known                ? cudaSuccess
                                                  : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return standin::call([=] {
    if (!standin::is_stream(stream)) return cudaErrorInvalidResourceHandle;
    ++standin::n_waits;
    standin::carry_out_stream(stream);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return standin::call_of(event, [=](CUevent_st& e) {
    if (!standin::is_stream(stream)) return cudaErrorInvalidResourceHandle;
    standin::queue_wait(stream, standin::recorded(e));
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return standin::call([=] {
    if (!event) return cudaErrorInvalidValue;
    *event = new (std::nothrow) CUevent_st;
    return *event ? cudaSuccess : cudaErrorMemoryAllocation;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return standin::call_of(event, [=](CUevent_st& e) {
    if (!standin::is_stream(stream)) return cudaErrorInvalidResourceHandle;
    standin::Place place = standin::queue(stream, nullptr);
    std::lock_guard lock(e.mutex);
    e.recorded = std::move(place);
    return cudaSuccess;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return standin::call_of(event, [](CUevent_st& e) {
    standin::carry_out(standin::recorded(e));
    return cudaSuccess;
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return standin::call_of(event, [](CUevent_st& e) {
    return standin::is_done(standin::recorded(e)) ? cudaSuccess : cudaErrorNotReady;
  });
}

// Also where calls fail.
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const cudaError_t refused = standin::begin_call();
  delete event;
  return standin::end_call(refused);
}
