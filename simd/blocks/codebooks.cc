#include "simd/blocks/codebooks.h"

#include <cstddef>

#include "simd/blocks/codebook_rows.h"

namespace pc::simd {
namespace {

// Rows of bytes from rows of kBits bits an element; numbers: what those bits stand for.
template <class Row, std::size_t kBits, std::size_t kRows>
constexpr std::array<Row, kRows> book(const std::array<std::uint16_t, kRows>& rows,
                                      const Numbers16& numbers) {
  std::array<Row, kRows> book{};
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t j = 0; j < sizeof(Row); ++j) {
      const std::size_t which = rows[r] >> kBits * j & ((1u << kBits) - 1);
      book[r] |= Row{static_cast<std::uint8_t>(numbers[which])} << 8 * j;
    }
  }
  return book;
}

constexpr Numbers16 kEighths = {{-8, 0, 8}};

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
