#include "tests/support/count_allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<long> n_allocations{0};
std::atomic<long> n_bytes{0};

void* counted(std::size_t n) {
  ++n_allocations;
  n_bytes += static_cast<long>(n);
  return std::malloc(n ? n : 1);
}

void* counted_or_throw(std::size_t n) {
  if (void* p = counted(n)) return p;
  throw std::bad_alloc();
}

}  // namespace

namespace pc::test {
long allocations() {
  return n_allocations;
}
long allocated_bytes() {
  return n_bytes;
}
}  // namespace pc::test

// The whole set, so that nothing allocated by one family is freed by another.
// clang-format off
void* operator new(std::size_t n) { return counted_or_throw(n); }
void* operator new[](std::size_t n) { return counted_or_throw(n); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return counted(n); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return counted(n); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
// clang-format on
