// An owning, uninitialised array whose first byte lies on a cache line.
//
// Move-only; never grows: sized once, so that nothing is allocated while a
// step runs. T must be trivial. A large buffer is mapped as pages of its own: a page
// costs memory from its first use on, and the system has all of them back when the
// buffer goes. (In a heap, small blocks that live longer would hold the freed room.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

namespace pc {

// One cache line on every CPU we run on, and one AVX-512 register.
inline constexpr std::size_t kCacheLine = 64;

// A buffer of at least this many bytes is mapped as pages of its own.
inline constexpr std::size_t kOwnPagesBytes = std::size_t{1} << 18;

// New pages of zeros for this process alone; null where the system has none. Precondition: n_bytes
// > 0.
void* map_pages(std::size_t n_bytes);
// Unmaps all that map_pages() returned.
void unmap_pages(void* pages, std::size_t n_bytes);

template <class T>
requires std::is_trivial_v<T>
class AlignedBuffer {
 public:
  AlignedBuffer() = default;

  // Throws std::bad_alloc, like any container; the C API turns it into a status.
  explicit AlignedBuffer(std::size_t count) : size_(count) {
    if (count > (SIZE_MAX - kCacheLine) / sizeof(T)) throw std::bad_alloc();
    const std::size_t bytes = (count * sizeof(T) + kCacheLine - 1) / kCacheLine * kCacheLine;
    if (bytes == 0) return;
    void* const data =
        bytes < kOwnPagesBytes ? std::aligned_alloc(kCacheLine, bytes) : map_pages(bytes);
    if (!data) throw std::bad_alloc();
    data_ = {static_cast<T*>(data), Free{bytes}};
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_.get()[i]; }
  const T& operator[](std::size_t i) const { return data_.get()[i]; }
  std::span<T> span() { return {data(), size_}; }
  std::span<const T> span() const { return {data(), size_}; }

 private:
  struct Free {
    std::size_t bytes = 0;
    void operator()(T* p) const { bytes < kOwnPagesBytes ? std::free(p) : unmap_pages(p, bytes); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace pc
