#include "pml/utf8.h"

#include <catch2/catch.hpp>
#include <string>

using pc::pml::find_invalid_utf8;

namespace {

std::string encode(std::uint32_t c) {
  if (c < 0x80) return {static_cast<char>(c)};
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((c >> shift) & 0x3F)); };
  if (c < 0x800) return {static_cast<char>(0xC0 | (c >> 6)), tail(0)};
  if (c < 0x10000) return {static_cast<char>(0xE0 | (c >> 12)), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | (c >> 18)), tail(12), tail(6), tail(0)};
}

}  // namespace

TEST_CASE("every character but the surrogates is UTF-8, cut off it is not") {
  for (std::uint32_t c = 1; c < 0x110000; c += c < 0x11000 ? 1 : 97) {
    const std::string s = encode(c);
    const bool surrogate = c >= 0xD800 && c <= 0xDFFF;
    if (find_invalid_utf8(s).has_value() != surrogate) FAIL("character " << c);
    if (s.size() > 1 && find_invalid_utf8("a" + s.substr(0, s.size() - 1)) != 1u)
      FAIL("cut off character " << c);
  }
}

TEST_CASE("overlong forms, strays and what lies beyond Unicode are not UTF-8") {
  for (const char* bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF",
                          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xFE", "\xED\xA0\x80"}) {
    CHECK(find_invalid_utf8(bad) == 0u);
    CHECK(find_invalid_utf8("ok \xC3\xA9 " + std::string(bad)) == 6u);
  }
  CHECK_FALSE(find_invalid_utf8("").has_value());
}
