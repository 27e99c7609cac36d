#include "cuda/standin/shared_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PC_SHARED_ASAN
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define PC_SHARED_ASAN
#endif

#ifdef PC_SHARED_ASAN
extern "C" void __asan_poison_memory_region(const volatile void* begin, std::size_t bytes);
extern "C" void __asan_unpoison_memory_region(const volatile void* begin, std::size_t bytes);
#endif

namespace pc::cuda::standin {
namespace {

// The promise is 16 bytes: an address that is a multiple of 32 would hide who needs more.
constexpr std::size_t kAlignment = 16;
constexpr std::size_t kGuardBytes = 256;
constexpr std::byte kAtFirst{0xff}, kGuard{0xa5};

void poison([[maybe_unused]] const void* begin, [[maybe_unused]] std::size_t bytes) {
#ifdef PC_SHARED_ASAN
  __asan_poison_memory_region(begin, bytes);
#endif
}

void unpoison([[maybe_unused]] const void* begin, [[maybe_unused]] std::size_t bytes) {
#ifdef PC_SHARED_ASAN
  __asan_unpoison_memory_region(begin, bytes);
#endif
}

}  // namespace

SharedMemory::~SharedMemory() {
  unpoison(room_.data(), room_.size());
}

void SharedMemory::resize(std::size_t bytes) {
  unpoison(room_.data(), room_.size());
  const std::size_t room = bytes + kGuardBytes + 3 * kAlignment;
  if (room_.size() < room) room_.resize(room);
  const auto address = reinterpret_cast<std::uintptr_t>(room_.data());
  const std::size_t past =
      (address + kAlignment - 1) / (2 * kAlignment) * 2 * kAlignment + kAlignment;
  data_ = room_.data() + (past - address);
  bytes_ = bytes;
  std::fill_n(data_ + bytes_, kGuardBytes, kGuard);
  poison(data_ + bytes_, kGuardBytes);
}

void SharedMemory::begin_block() {
  if (bytes_ != 0) std::memset(data_, std::to_integer<int>(kAtFirst), bytes_);
}

bool SharedMemory::end_block() {
#ifdef PC_SHARED_ASAN
  return true;  // the sanitizer saw every access
#else
  const std::byte* guard = data_ + bytes_;
  return std::all_of(guard, guard + kGuardBytes, [](std::byte b) { return b == kGuard; });
#endif
}

}  // namespace pc::cuda::standin
