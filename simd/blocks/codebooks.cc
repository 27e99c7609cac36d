#include "simd/blocks/codebooks.h"

#include <cstddef>

#include "simd/blocks/codebook_rows.h"

namespace pc::simd {
namespace {

// Rows of bytes from rows of kBits bits an element; numbers: what those bits stand for.
template <class Row, std::size_t kBits, std::size_t kRows, std::size_t kNumbers>
constexpr std::array<Row, kRows> book(const std::array<std::uint16_t, kRows>& rows,
                                      const std::array<std::uint8_t, kNumbers>& numbers) {
  std::array<Row, kRows> book{};
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t j = 0; j < sizeof(Row); ++j) {
      const std::size_t which = rows[r] >> kBits * j & ((1u << kBits) - 1);
      book[r] |= Row{numbers.at(which)} << 8 * j;
    }
  }
  return book;
}

constexpr std::array<std::uint8_t, 3> kEighths = {0xf8, 0, 8}, kIq2Numbers = {8, 25, 43};
constexpr std::array<std::uint8_t, 8> kIq3XxsNumbers = {4, 12, 20, 28, 36, 44, 52, 62};
constexpr std::array<std::uint8_t, 8> kIq3SNumbers = {1, 3, 5, 7, 9, 11, 13, 15};

}  // namespace

constinit const std::array<std::uint64_t, 2048> kIq1Book =
    book<std::uint64_t, 2>(kIq1SRows, kEighths);
constinit const std::array<std::uint64_t, 256> kIq2XxsBook =
    book<std::uint64_t, 2>(kIq2XxsRows, kIq2Numbers);
constinit const std::array<std::uint64_t, 512> kIq2XsBook =
    book<std::uint64_t, 2>(kIq2XsRows, kIq2Numbers);
constinit const std::array<std::uint64_t, 1024> kIq2SBook =
    book<std::uint64_t, 2>(kIq2SRows, kIq2Numbers);
constinit const std::array<std::uint32_t, 256> kIq3XxsBook =
    book<std::uint32_t, 4>(kIq3XxsRows, kIq3XxsNumbers);
constinit const std::array<std::uint32_t, 512> kIq3SBook =
    book<std::uint32_t, 4>(kIq3SRows, kIq3SNumbers);

}  // namespace pc::simd
