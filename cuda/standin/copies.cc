#include "cuda/standin/copies.h"

#include <cstring>

#include "cuda/standin/fatal.h"

namespace pc::cuda::standin {
namespace {
constexpr std::size_t kCopyBytes = 16;

bool aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % kCopyBytes == 0;
}
}  // namespace

void AsyncCopies::start(void* to, const void* from) {
  if (!aligned(to)) stop("copy_async_16 to %p, which is not a multiple of 16", to);
  if (!aligned(from)) stop("copy_async_16 from %p, which is not a multiple of 16", from);
  std::memset(to, 0xff, kCopyBytes);
  copies_.push_back({to, from, committed_});
}

void AsyncCopies::wait(std::uint32_t pending) {
  auto copy = copies_.begin();
  for (; copy != copies_.end() && copy->group + pending < committed_; ++copy)
    std::memcpy(copy->to, copy->from, kCopyBytes);
  copies_.erase(copies_.begin(), copy);
}

void AsyncCopies::forget() {
  copies_.clear();
  committed_ = 0;
}

}  // namespace pc::cuda::standin
