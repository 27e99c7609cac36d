// Packed weights: what they say is what the GGUF blocks say, bit for bit.

#include "simd/packed/packed.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "simd/kernels.h"
#include "tests/support/quant_blocks.h"
#include "tests/support/random.h"

namespace pc::simd {
namespace {

using test::kQuantisedTypes;
using test::Random;

TEST_CASE("every quantised type packs, and no other") {
  for (const Type type : kQuantisedTypes) REQUIRE(packs(type));
  for (const Type type : {Type::kF32, Type::kF16, Type::kBf16}) REQUIRE_FALSE(packs(type));
}

TEST_CASE("packed bytes a weight") {
  const auto bits = [](Type type) {
    return 8.0 * static_cast<double>(packed_bytes(type, 2048, 2048)) / (2048.0 * 2048.0);
  };
  REQUIRE(bits(Type::kQ4_0) == 4.5);
  REQUIRE(bits(Type::kQ4_K) == 4.625);
  REQUIRE(bits(Type::kQ6_K) == 6.5625);
  REQUIRE(bits(Type::kQ8_0) == 8.5);
  REQUIRE(bits(Type::kIQ4_NL) == 4.5);
  REQUIRE(bits(Type::kMXFP4) == 4.25);
  REQUIRE(bits(Type::kNVFP4) == 5.0);
  REQUIRE(bits(Type::kIQ2_XXS) == 4.3125);
}

TEST_CASE("a packed weight is the GGUF weight") {
  Random random(1);
  for (const Type type : kQuantisedTypes) {
    for (const std::size_t rows : {1u, 15u, 16u, 37u}) {
      const std::size_t cols = shape_of(type).elements * random.between(1, 5);
      INFO(shape_of(type).name << " " << rows << "x" << cols);
      const auto w = test::random_blocks(random, type, rows * cols, 65504.0f);
      std::vector<float> want(rows * cols);
      kScalarKernels.to_f32(w.data(), type, want.size(), want.data());
      const std::size_t panels = (rows + kPanelRows - 1) / kPanelRows;
      const std::size_t bytes = packed_bytes(type, rows, cols);
      REQUIRE(bytes == panels * packed_panel_bytes(type, cols));
      std::vector<std::byte> packed(bytes, std::byte{0xa5});
      for (std::size_t p = panels; p-- > 0;)
        pack_panel(type, w.data(), rows, cols, p, packed.data());
      for (std::size_t r = 0; r < panels * kPanelRows; ++r) {
        for (std::size_t c = 0; c < cols; ++c) {
          const float got = packed_element(type, packed.data(), cols, r, c);
          INFO("row " << r << " column " << c << ": " << got);
          if (r >= rows)
            REQUIRE(got == 0.0f);
          else
            REQUIRE(std::memcmp(&got, &want[r * cols + c], sizeof got) == 0);
        }
      }
    }
  }
}

TEST_CASE("no byte of a packed panel is left as it was") {
  Random random(2);
  for (const Type type : kQuantisedTypes) {
    const std::size_t cols = shape_of(type).elements * 3, rows = 5;
    const auto w = test::random_blocks(random, type, rows * cols, 1.0f);
    std::vector<std::byte> a(packed_bytes(type, rows, cols), std::byte{0}),
        b(a.size(), std::byte{0xff});
    pack_panel(type, w.data(), rows, cols, 0, a.data());
    pack_panel(type, w.data(), rows, cols, 0, b.data());
    REQUIRE(a == b);
  }
}

}  // namespace
}  // namespace pc::simd
