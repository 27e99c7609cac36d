#include "pml/utf8.h"

#include <cstdint>

namespace pc::pml {
namespace {

// The forms of a character, by its first byte: how many bytes follow, and the
// range of the first of them (Unicode 15, table 3-7). 0 followers: not a form.
struct Form {
  int followers;
  std::uint8_t low, high;
};

Form form_of(std::uint8_t lead) {
  if (lead >= 0xC2 && lead <= 0xDF) return {1, 0x80, 0xBF};
  if (lead == 0xE0) return {2, 0xA0, 0xBF};
  if (lead == 0xED) return {2, 0x80, 0x9F};
  if (lead >= 0xE1 && lead <= 0xEF) return {2, 0x80, 0xBF};
  if (lead == 0xF0) return {3, 0x90, 0xBF};
  if (lead >= 0xF1 && lead <= 0xF3) return {3, 0x80, 0xBF};
  if (lead == 0xF4) return {3, 0x80, 0x8F};
  return {0, 0, 0};
}

}  // namespace

std::optional<std::size_t> find_invalid_utf8(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  for (std::size_t i = 0; i < bytes.size();) {
    if (byte(i) < 0x80) {
      ++i;
      continue;
    }
    const Form form = form_of(byte(i));
    if (form.followers == 0) return i;
    for (int k = 1; k <= form.followers; ++k) {
      if (i + k >= bytes.size()) return i;
      const std::uint8_t low = k == 1 ? form.low : 0x80, high = k == 1 ? form.high : 0xBF;
      if (byte(i + k) < low || byte(i + k) > high) return i;
    }
    i += 1 + static_cast<std::size_t>(form.followers);
  }
  return std::nullopt;
}

}  // namespace pc::pml
