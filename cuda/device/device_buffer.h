// Owners of what CUDA hands out: device memory, page-locked host memory, streams, events.
//
// Moved, never copied. Nothing is freed while the device may still use it: whoever lets go of a
// buffer has waited for what uses it. Threads: compatible.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "cuda/device/device_call.h"

namespace pc::cuda {

namespace owned {
struct FreeDevice {
  void operator()(void* data) const { cudaFree(data); }
};
struct FreeHost {
  void operator()(void* data) const { cudaFreeHost(data); }
};
struct DestroyStream {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
};
struct DestroyEvent {
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};
}  // namespace owned

using Stream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, owned::DestroyStream>;
using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, owned::DestroyEvent>;

// One that does not wait for the default stream.
inline Result<Stream> make_stream() {
  cudaStream_t stream = nullptr;
  PC_CHECK_OK(check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream"));
  return Stream(stream);
}

inline Result<Event> make_event() {
  cudaEvent_t event = nullptr;
  PC_CHECK_OK(check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event"));
  return Event(event);
}

// Elements of T, uninitialised.
template <class T, class Free>
class Buffer {
 public:
  Buffer() = default;

  T* data() const { return static_cast<T*>(data_.get()); }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }

  static Result<Buffer> make(std::size_t size) {
    if (size == 0) return Buffer();
    void* data = nullptr;
    const std::size_t bytes = size * sizeof(T);
    constexpr bool kOnDevice = std::is_same_v<Free, owned::FreeDevice>;
    Status made = kOnDevice ? check(cudaMalloc(&data, bytes), "taking device memory")
                            : check_locked(cudaMallocHost(&data, bytes));
    if (is_full(made))
      return error(Code::kOutOfMemory,
                   "there are no " + std::to_string((bytes >> 20) + 1) + " MiB of memory left " +
                       (kOnDevice ? "on the CUDA device" : "that can be locked for the device"));
    PC_CHECK_OK(std::move(made));
    Buffer buffer;
    buffer.data_.reset(data);
    buffer.size_ = size;
    return Result<Buffer>(std::move(buffer));
  }

  // At least so many elements, and some more where there is room; what was in it is lost.
  Status grow(std::size_t size) {
    if (size <= size_) return ok();
    *this = Buffer();
    auto made = make(size + size / 2);
    if (is_full(made)) made = make(size);
    PC_TRY(*this, std::move(made));
    return ok();
  }

 private:
  std::unique_ptr<void, Free> data_;
  std::size_t size_ = 0;
};

template <class T>
using DeviceBuffer = Buffer<T, owned::FreeDevice>;
template <class T>
using PinnedBuffer = Buffer<T, owned::FreeHost>;

}  // namespace pc::cuda
