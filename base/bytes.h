// Overflow-safe arithmetic on sizes read from files, and little-endian loads.
//
// Every count, offset and size that comes from outside goes through these
// before it is used: `n > size - offset` after `offset <= size`, never
// `offset + n > size`.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

#include "base/status.h"  // PC_EXPECT

namespace pc {

// The formats of this project are little-endian and read by memcpy.
static_assert(std::endian::native == std::endian::little,
              "promptcache reads its files in place and needs a little-endian machine");

inline std::optional<std::uint64_t> checked_mul(std::uint64_t a, std::uint64_t b) {
  std::uint64_t r;
  if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
  return r;
}

inline std::optional<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) {
  std::uint64_t r;
  if (__builtin_add_overflow(a, b, &r)) return std::nullopt;
  return r;
}

// Does [offset, offset + n) lie inside `size` bytes?
constexpr bool in_range(std::uint64_t offset, std::uint64_t n, std::uint64_t size) {
  return offset <= size && n <= size - offset;
}

// Precondition: alignment is a power of two and value + alignment does not overflow.
constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  PC_EXPECT((alignment & (alignment - 1)) == 0 && value + alignment >= value);
  return (value + alignment - 1) & ~(alignment - 1);
}

// Unaligned little-endian load. Precondition: in_range(offset, sizeof(T), bytes.size()).
template <class T>
requires std::is_trivially_copyable_v<T> T load_le(std::span<const std::byte> bytes,
                                                   std::size_t offset) {
  PC_EXPECT(in_range(offset, sizeof(T), bytes.size()));
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace pc
