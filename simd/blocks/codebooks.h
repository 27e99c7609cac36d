// The codebooks of GGUF's types: rows of small integers, of which a block keeps the numbers
// of the rows; and the tables of 16 integers, whose numbers are the codes of 4 bits.
//
// Byte j of a row is its element j. Constant data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace pc::simd {

extern const std::array<std::uint64_t, 2048> kIq1Book;    // -8, 0, 8 as i8: eighths of -1, 0, 1
extern const std::array<std::uint64_t, 256> kIq2XxsBook;  // 8, 25, 43
extern const std::array<std::uint64_t, 512> kIq2XsBook;   // the same
extern const std::array<std::uint64_t, 1024> kIq2SBook;   // the same
extern const std::array<std::uint32_t, 256> kIq3XxsBook;  // 4, 12, 20, 28, 36, 44, 52, 62
extern const std::array<std::uint32_t, 512> kIq3SBook;    // 1, 3, 5, 7, 9, 11, 13, 15

struct Numbers16 {
  std::int8_t of[16];
  constexpr std::int8_t operator[](std::size_t i) const { return of[i]; }
};

inline constexpr Numbers16 kIq4Numbers = {
    {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}};

// Twice what the 4 bits of OCP's E2M1 mean. Its -0 is 0, as in the package gguf.
inline constexpr Numbers16 kE2m1Numbers = {
    {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}};

// What elements of the codebooks are, with their signs; what is left of 16 is never meant.
inline constexpr Numbers16 kIq1Numbers = {{-9, -7, -1, 1, 7, 9}};  // eighths
inline constexpr Numbers16 kIq2Numbers = {{8, 25, 43, -8, -25, -43}};
inline constexpr Numbers16 kIq3XxsNumbers = {
    {4, 12, 20, 28, 36, 44, 52, 62, -4, -12, -20, -28, -36, -44, -52, -62}};
inline constexpr Numbers16 kIq3SNumbers = {
    {1, 3, 5, 7, 9, 11, 13, 15, -1, -3, -5, -7, -9, -11, -13, -15}};

// The signs of eight elements, a bit each, from seven: an even number of them is negative.
constexpr std::uint8_t even_signs(std::uint32_t seven) {
  const std::uint32_t odd = (0x6996u >> ((seven ^ seven >> 4) & 15) & 1) << 7;
  return static_cast<std::uint8_t>(seven | odd);
}

}  // namespace pc::simd
