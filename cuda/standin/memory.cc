#include "cuda/standin/memory.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

#include "cuda/standin/calls.h"
#include "cuda/standin/faults.h"
#include "cuda/standin/work.h"

namespace pc::cuda::standin {
namespace {

constexpr std::align_val_t kAlignment{256};
constexpr int kAtFirst = 0xff;

std::uintptr_t address_of(const void* p) {
  return reinterpret_cast<std::uintptr_t>(p);
}

class Allocations {
 public:
  explicit Allocations(std::size_t limit) : limit_(limit) {}

  void set_limit(std::size_t bytes) {
    std::lock_guard lock(mutex_);
    limit_ = bytes;
  }
  std::size_t limit() {
    std::lock_guard lock(mutex_);
    return limit_;
  }
  std::size_t bytes() {
    std::lock_guard lock(mutex_);
    return bytes_;
  }

  void* allocate(std::size_t bytes) {
    std::lock_guard lock(mutex_);
    if (bytes > limit_ || bytes_ > limit_ - bytes) return nullptr;
    void* memory = ::operator new(bytes, kAlignment, std::nothrow);
    if (!memory) return nullptr;
    std::memset(memory, kAtFirst, bytes);
    ranges_[address_of(memory)] = bytes;
    bytes_ += bytes;
    return memory;
  }

  bool release(void* memory) {
    std::lock_guard lock(mutex_);
    const auto range = ranges_.find(address_of(memory));
    if (range == ranges_.end()) return false;
    bytes_ -= range->second;
    ranges_.erase(range);
    ::operator delete(memory, kAlignment);
    return true;
  }

  bool holds(const void* begin, std::size_t bytes) {
    std::lock_guard lock(mutex_);
    auto range = ranges_.upper_bound(address_of(begin));
    if (range == ranges_.begin()) return false;
    --range;
    const std::size_t offset = address_of(begin) - range->first;
    return offset <= range->second && bytes <= range->second - offset;
  }

  bool touches(const void* begin, std::size_t bytes) {
    std::lock_guard lock(mutex_);
    auto range = ranges_.lower_bound(address_of(begin));
    if (range != ranges_.end() && range->first - address_of(begin) < bytes) return true;
    if (range == ranges_.begin()) return false;
    --range;
    return address_of(begin) - range->first < range->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::uintptr_t, std::size_t> ranges_;
  std::size_t bytes_ = 0, limit_;
};

// Never destroyed: what is freed at the end of the process still finds them.
Allocations& device() {
  static Allocations& all = *new Allocations(kMemoryLimit);
  return all;
}
Allocations& pinned() {
  static Allocations& all = *new Allocations(SIZE_MAX);
  return all;
}

cudaError_t allocate(Allocations& from, void** memory, std::size_t bytes) {
  if (!memory) return cudaErrorInvalidValue;
  *memory = nullptr;
  if (bytes == 0) return cudaSuccess;
  *memory = from.allocate(bytes);
  return *memory ? cudaSuccess : cudaErrorMemoryAllocation;
}

// Waits for all streams, and frees, even where calls fail: so that what is never freed can be told.
cudaError_t release(Allocations& to, void* memory) {
  const cudaError_t refused = begin_call();
  if (memory) carry_out_all();
  const bool known = !memory || to.release(memory);
  return end_call(refused != cudaSuccess ? refused : known ? cudaSuccess : cudaErrorInvalidValue);
}

}  // namespace

bool on_device(const void* begin, std::size_t bytes) {
  return device().holds(begin, bytes);
}
bool touches_device(const void* begin, std::size_t bytes) {
  return device().touches(begin, bytes);
}
bool is_pinned(const void* begin, std::size_t bytes) {
  return pinned().holds(begin, bytes);
}

void set_memory_limit(std::size_t bytes) {
  device().set_limit(bytes);
}
std::size_t allocated_bytes() {
  return device().bytes();
}
std::size_t allocated_host_bytes() {
  return pinned().bytes();
}

}  // namespace pc::cuda::standin

namespace standin = pc::cuda::standin;

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  return standin::call([=] { return standin::allocate(standin::device(), memory, bytes); });
}

cudaError_t cudaFree(void* memory) {
  return standin::release(standin::device(), memory);
}

cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  return standin::call([=] { return standin::allocate(standin::pinned(), memory, bytes); });
}

cudaError_t cudaFreeHost(void* memory) {
  return standin::release(standin::pinned(), memory);
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return standin::call([=] {
    const std::size_t used = standin::allocated_bytes();
    *total = standin::device().limit();
    *free = used < *total ? *total - used : 0;
    return cudaSuccess;
  });
}
