#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "cuda/standin/calls.h"
#include "cuda/standin/memory.h"
#include "cuda/standin/runtime.h"
#include "cuda/standin/work.h"

namespace pc::cuda::standin {
namespace {

// Rows of `width` bytes.
struct Transfer {
  void* to;
  const void* from;
  std::size_t to_pitch, from_pitch, width, height;

  std::size_t to_bytes() const { return (height - 1) * to_pitch + width; }
  std::size_t from_bytes() const { return (height - 1) * from_pitch + width; }
};

Transfer of_bytes(void* to, const void* from, std::size_t n) {
  return {to, from, n, n, n, 1};
}

void make(const Transfer& t) {
  for (std::size_t row = 0; row < t.height; ++row)
    std::memmove(static_cast<std::byte*>(t.to) + row * t.to_pitch,
                 static_cast<const std::byte*>(t.from) + row * t.from_pitch, t.width);
}

bool right_sides(const Transfer& t, cudaMemcpyKind kind) {
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  const auto right = [kind](const void* begin, std::size_t bytes, bool expected) {
    const bool touches = touches_device(begin, bytes);
    if (touches || (expected && kind != cudaMemcpyDefault))
      return (expected || kind == cudaMemcpyDefault) && on_device(begin, bytes);
    return begin != nullptr;
  };
  return right(t.to, t.to_bytes(), to_device) && right(t.from, t.from_bytes(), from_device);
}

enum class Side { kDevice, kPinned, kPageable };

Side side_of(const void* begin, std::size_t bytes) {
  return on_device(begin, bytes)   ? Side::kDevice
         : is_pinned(begin, bytes) ? Side::kPinned
                                   : Side::kPageable;
}

// "API synchronization behavior" of CUDA's manual: whether the call returns when the copy is made.
bool waits(Side to, Side from, bool is_async) {
  const bool to_device = to == Side::kDevice, from_device = from == Side::kDevice;
  if (to_device && from_device) return false;
  return !is_async || to == Side::kPageable || (!to_device && !from_device);
}

// The call takes the bytes; they arrive in the stream's order.
void send(Transfer t, cudaStream_t stream) {
  std::vector<std::byte> taken(t.width * t.height);
  make({taken.data(), t.from, t.width, t.from_pitch, t.width, t.height});
  t.from_pitch = t.width;
  queue(stream, [t, taken = std::move(taken)]() mutable {
    t.from = taken.data();
    make(t);
  });
}

cudaError_t transfer(const Transfer& t, cudaMemcpyKind kind, cudaStream_t stream, bool is_async) {
  if (t.width == 0 || t.height == 0) return cudaSuccess;
  if (t.width > t.to_pitch || t.width > t.from_pitch || !right_sides(t, kind))
    return cudaErrorInvalidValue;
  const Side to = side_of(t.to, t.to_bytes()), from = side_of(t.from, t.from_bytes());
  if (to == Side::kDevice && from == Side::kPageable) {
    if (!is_async) carry_out_stream(stream);
    send(t, stream);
    return cudaSuccess;
  }
  const Place made = queue(stream, [t] { make(t); });
  if (waits(to, from, is_async)) carry_out(made);
  return cudaSuccess;
}

// With and without Async: the host waits for neither.
cudaError_t fill(void* memory, int byte, std::size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  if (!on_device(memory, bytes)) return cudaErrorInvalidValue;
  queue(stream, [=] { std::memset(memory, byte, bytes); });
  return cudaSuccess;
}

}  // namespace
}  // namespace pc::cuda::standin

namespace standin = pc::cuda::standin;

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return standin::call(
      [=] { return standin::transfer(standin::of_bytes(to, from, bytes), kind, nullptr, false); });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return standin::call(
      [=] { return standin::transfer(standin::of_bytes(to, from, bytes), kind, stream, true); });
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  return standin::call([=] {
    return standin::transfer({to, from, to_pitch, from_pitch, width, height}, kind, stream, true);
  });
}

cudaError_t cudaMemset(void* memory, int byte, std::size_t bytes) {
  return standin::call([=] { return standin::fill(memory, byte, bytes, nullptr); });
}

cudaError_t cudaMemsetAsync(void* memory, int byte, std::size_t bytes, cudaStream_t stream) {
  return standin::call([=] { return standin::fill(memory, byte, bytes, stream); });
}
