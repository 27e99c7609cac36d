// Writes the safetensors format, and whatever looks a little like it.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace pc::test {

// A file of any header and data: the length is the header's.
inline std::string safetensors_file(std::string_view header, std::string_view data) {
  const std::uint64_t n = header.size();
  std::string file(sizeof n, '\0');
  std::memcpy(file.data(), &n, sizeof n);
  return file.append(header).append(data);
}

inline std::span<const std::byte> as_span(const std::string& text) {
  return std::as_bytes(std::span(text));
}

}  // namespace pc::test
