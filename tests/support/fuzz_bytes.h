// What fuzz targets share: how they say that a promise is broken, and an input that is taken
// apart from its front.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace pc::test {

inline void require(bool promise) {
  if (!promise) std::abort();
}

// Numbers and texts off the front of an input; behind its end all are zero or empty, so that
// every input means something. A view.
class FuzzBytes {
 public:
  FuzzBytes(const std::uint8_t* data, std::size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}

  bool empty() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }

  std::uint8_t byte() {
    const std::string_view one = take(1);
    return one.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(one[0]);
  }
  // One of n; n is at most 256.
  std::uint32_t below(std::uint32_t n) { return byte() % n; }
  // Little-endian.
  std::uint64_t number(std::size_t n_bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < n_bytes; ++i) value |= std::uint64_t{byte()} << 8 * i;
    return value;
  }
  std::string_view take(std::size_t n) {
    const std::string_view front = rest_.substr(0, n);
    rest_.remove_prefix(front.size());
    return front;
  }
  // A byte for the length, then the text.
  std::string_view text() { return take(byte()); }

 private:
  std::string_view rest_;
};

}  // namespace pc::test
