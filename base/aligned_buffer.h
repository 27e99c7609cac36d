// An owning, uninitialised array whose first byte lies on a cache line.
//
// Move-only; never grows: sized once, so that nothing is allocated while a
// step runs. T must be trivial. Large buffers come from fresh pages, which
// cost memory only once they are touched.
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
    data_.reset(static_cast<T*>(std::aligned_alloc(kCacheLine, bytes)));
    if (!data_) throw std::bad_alloc();
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
    void operator()(T* p) const { std::free(p); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace pc
