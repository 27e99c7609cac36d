// Products of 8-bit activations with packed weights: activations equal bit for
// bit in all tables, products against the scalar table within the rounding of
// f32 sums; what 8 bits cost against f32.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#include "simd/kernels.h"
#include "simd/packed/packed.h"
#include "simd/quantised_rows.h"
#include "tests/simd/packed/packed_variants.h"
#include "tests/support/quant_blocks.h"
#include "tests/support/random.h"

namespace pc::simd {
namespace {

using test::kQuantisedTypes;
using test::Random;

constexpr double kEps = std::numeric_limits<float>::epsilon();

std::vector<std::byte> quantised(const Kernels& table, const std::vector<float>& x, std::size_t m,
                                 std::size_t k) {
  std::vector<std::byte> bytes(quantised_bytes(m, k), std::byte{0x5a});
  // In calls for other columns and for other tiles: they must not disturb each other.
  const std::size_t half = k / 64, tile = std::min(m, kMaxTileRows);
  table.quantise({x.data(), bytes.data(), m, k, tile, m, 0, k / 32});
  table.quantise({x.data(), bytes.data(), m, k, 0, tile, half, k / 32});
  table.quantise({x.data(), bytes.data(), m, k, 0, tile, 0, half});
  return bytes;
}

std::vector<double> widened(const std::vector<std::byte>& bytes, std::size_t m, std::size_t k) {
  std::vector<double> x(m * k);
  for (std::size_t i = 0; i < m * k; ++i)
    x[i] = quantised_element(bytes.data(), m, k, i / k, i % k);
  return x;
}

std::vector<std::byte> packed(Type type, const std::vector<std::uint8_t>& w, std::size_t n,
                              std::size_t k) {
  std::vector<std::byte> bytes(packed_bytes(type, n, k));
  for (std::size_t p = 0; p < (n + 15) / 16; ++p) pack_panel(type, w.data(), n, k, p, bytes.data());
  return bytes;
}

bool any_named(const std::string& name) {
  for (const Kernels* table : supported_kernels())
    if (table->name == name) return true;
  return false;
}

TEST_CASE("which instruction sets multiply packed weights") {
  for (const PackedVariant& variant : packed_variants())
    std::printf("packed product: %s\n", variant.name.c_str());
  for (const Kernels* table : supported_kernels())
    if (!table->matmul_packed) std::printf("packed product: %s, none\n", table->name);
  for (const std::string neon : {"neon_i8mm", "neon_dot", "neon"}) {
    if (!any_named(neon))
      std::printf("skipped: %s, which this CPU lacks; scripts/test-arm64 runs it\n", neon.c_str());
  }
#ifndef PC_HAVE_SIMDE
  std::printf("skipped: x86 variants beyond this CPU's, which need SIMDe (libsimde-dev)\n");
#endif
}

TEST_CASE("rows lie in tiles without gaps") {
  for (std::size_t m = 1; m <= 50; ++m) {
    std::vector<int> used(quantised_bytes(m, 64));
    for (std::size_t i = 0; i < m; ++i) {
      const RowOffsets place = offsets_of_row(m, i, 64);
      for (std::size_t g = 0; g < 2; ++g) {
        for (std::size_t b = 0; b < 32; ++b) ++used[place.codes + g * place.step + b];
        for (std::size_t b = 0; b < sizeof(RowNote); ++b) ++used[place.note + g * place.step + b];
      }
    }
    REQUIRE(used == std::vector<int>(used.size(), 1));
  }
}

// Mostly small, and in some groups a few columns of several times the others' size.
std::vector<float> heavy_floats(Random& random, std::size_t n) {
  auto x = random.floats(n);
  for (std::size_t g = 0; g < n; g += 32) {
    if (random.chance(0.5)) continue;
    for (std::uint32_t i = 0, outliers = random.between(1, 3); i < outliers; ++i)
      x[g + random.below(32)] *= random.chance(0.2) ? 1e4f : 6.0f;
  }
  return x;
}

RowNote note_of(const std::vector<std::byte>& bytes, const RowOffsets& place, std::size_t group) {
  RowNote note;
  std::memcpy(&note, bytes.data() + place.note + group * place.step, sizeof note);
  return note;
}

TEST_CASE("activations in 8 bits: nearest codes, the same in all tables") {
  Random random(1);
  for (int round = 0; round < 100; ++round) {
    const std::size_t m = random.between(1, 40), k = 32 * random.between(1, 20);
    auto x = heavy_floats(random, m * k);
    for (float& v : x)
      if (random.chance(0.01)) v = 0.0f;
    for (std::size_t c = 0; c < 32; ++c) x[c] *= round % 2 ? 0.0f : 1e-38f;  // below the floor
    const auto want = quantised(kScalarKernels, x, m, k);
    for (const Kernels* table : supported_kernels()) {
      INFO(table->name << " " << m << "x" << k);
      REQUIRE(quantised(*table, x, m, k) == want);
    }
    const auto back = widened(want, m, k);
    for (std::size_t g = 0; g < m * k; g += 32) {
      double largest = 0.0, square = 0.0;
      for (std::size_t c = g; c < g + 32; ++c) {
        largest = std::fmax(largest, std::fabs(x[c]));
        square += double{x[c]} * x[c];
      }
      const double scale = note_of(want, offsets_of_row(m, g / k, k), g % k / 32).scale;
      // Half a step, and the rounding of what is rounded: codes go to 254.
      const double most = largest < kQuantisedFloor ? largest : scale * (0.5 + 512 * kEps);
      for (std::size_t c = g; c < g + 32; ++c) REQUIRE(std::fabs(back[c] - x[c]) <= most);
      // Errors of the variance scale^2 / 12: at most 0.91 % of the norm, as the header reckons.
      REQUIRE(scale * std::sqrt(32.0 / 12.0) <= 0.0092 * std::sqrt(square));
    }
  }
}

TEST_CASE("second codes: where outliers rule a group, of one quad, and noted once a tile") {
  constexpr std::size_t m = 37, k = 64;  // tiles of 16, 16, 4 and 1 rows
  Random random(4);
  auto x = random.floats(m * k);
  for (float& v : x) v = v < 0 ? -1.0f : 1.0f;
  const std::size_t rows[] = {0, 5, 15, 33, 36};
  for (const std::size_t i : rows) x[i * k + 32 + i % 32] *= 10.0f;
  x[20 * k + 32] = x[20 * k + 63] = 10.0f;  // in two quads: nothing to gain
  for (const Kernels* table : supported_kernels()) {
    const auto bytes = quantised(*table, x, m, k);
    for (std::size_t i = 0; i < m; ++i) {
      const RowOffsets place = offsets_of_row(m, i, k);
      const RowNote note = note_of(bytes, place, 1);
      const bool finer = std::find(std::begin(rows), std::end(rows), i) != std::end(rows);
      REQUIRE(note.scale == (finer ? 5.0f : i == 20 ? 10.0f : 1.0f) / 127.0f);
      REQUIRE(note.quad == (finer ? i % 32 / 4 : 0));
      REQUIRE(note.beyond[i % 4] == (!finer ? 0 : x[i * k + 32 + i % 32] < 0 ? -127 : 127));
      const RowNote first = note_of(bytes, offsets_of_row(m, i - place.row, k), 1);
      REQUIRE((first.rows >> place.row & 1) == (finer || i == 20));
      REQUIRE(note_of(bytes, place, 0).rows == 0);
    }
  }
}

TEST_CASE("an activation that is not finite makes NaN") {
  constexpr std::size_t m = 3, k = 64, n = 16;
  Random random(2);
  const auto w = packed(Type::kQ8_0, test::random_blocks(random, Type::kQ8_0, n * k, 1.0f), n, k);
  const float inf = std::numeric_limits<float>::infinity();
  for (const float bad : {inf, -inf, std::nanf("")}) {
    auto x = random.floats(m * k);
    x[k + 37] = bad;
    for (const PackedVariant& variant : packed_variants()) {
      const auto q = quantised(kScalarKernels, x, m, k);
      std::vector<float> y(m * n);
      variant.product({q.data(), w.data(), y.data(), n, m, k, n, 0, 1, Type::kQ8_0, false});
      for (std::size_t i = 0; i < m * n; ++i) REQUIRE(std::isnan(y[i]) == (i / n == 1));
    }
  }
}

// A row of weights for each scale; x is 1 in one column, so that a product is a weight.
TEST_CASE("powers of two as scales, down to those that are subnormal") {
  constexpr std::size_t n = 256, k = 32, block = 17;
  constexpr std::size_t kMost =
      128 + 106;  // from 2^108 on the scale times integers may be no float
  Random random(5);
  auto blocks = test::random_blocks(random, Type::kMXFP4, n * k, 1.0f);
  for (std::size_t i = 0; i < n; ++i)
    blocks[block * i] = static_cast<std::uint8_t>(std::min(i, kMost));
  const auto w = packed(Type::kMXFP4, blocks, n, k);
  for (std::size_t column = 0; column < k; ++column) {
    std::vector<float> x(k);
    x[column] = 1.0f;
    const auto q = quantised(kScalarKernels, x, 1, k);
    const double one = quantised_element(q.data(), 1, k, 0, column);
    for (const PackedVariant& variant : packed_variants()) {
      std::vector<float> y(n);
      variant.product({q.data(), w.data(), y.data(), n, 1, k, n, 0, n / 16, Type::kMXFP4, false});
      for (std::size_t i = 0; i < n; ++i) {
        INFO(variant.name << ", scale " << i << ", column " << column);
        const double want = one * packed_element(Type::kMXFP4, w.data(), k, i, column);
        // 127 codes of the scale, and the scale of x; below 2^-126 to a multiple of 2^-149.
        REQUIRE(std::fabs(y[i] - want) <= 2 * kEps * std::fabs(want) + 0x1p-149);
      }
    }
  }
}

TEST_CASE("matmul_packed agrees with the scalar table") {
  Random random(3);
  const auto variants = packed_variants();
  for (const Type type : kQuantisedTypes) {
    for (int round = 0; round < 20; ++round) {
      const std::size_t k = shape_of(type).elements * random.between(1, round % 5 ? 2 : 5);
      const std::size_t m = random.between(1, 35), n = random.between(1, 50);
      const std::size_t panels = (n + 15) / 16,
                        begin = random.below(static_cast<std::uint32_t>(panels));
      const std::size_t ys = n + random.below(3);
      const bool accumulate = random.chance(0.5);
      auto x = round % 2 ? heavy_floats(random, m * k) : random.floats(m * k);
      if (round % 4 == 0)  // codes of the largest magnitude, where 16 bits might saturate
        for (float& v : x) v = v < 0 ? -1.0f : 1.0f;
      if (round % 4 == 1) {  // and of the second codes: a quad of 254
        for (std::size_t c = 0; c < x.size(); ++c)
          x[c] = c % 32 / 4 == c / 32 % 8 ? (c % 4 ? -0.3f : 1.0f) : 0.1f;
      }
      auto blocks = test::random_blocks(random, type, n * k, 0.1f);
      const auto w = packed(type, blocks, n, k);
      const auto y = random.floats(m * ys);
      const auto q = quantised(kScalarKernels, x, m, k);
      const auto wide = widened(q, m, k);
      for (const PackedVariant& variant : variants) {
        INFO(shape_of(type).name << " " << variant.name << " m " << m << " k " << k << " n " << n);
        auto got = y;
        variant.product(
            {q.data(), w.data(), got.data(), ys, m, k, n, begin, panels, type, accumulate});
        for (std::size_t i = 0; i < m; ++i) {
          for (std::size_t j = 0; j < ys; ++j) {
            if (j < begin * 16 || j >= n) {
              REQUIRE(got[i * ys + j] == y[i * ys + j]);
              continue;
            }
            // |scale * code| <= |element| + |minimum|, which are summed apart.
            const double minima = packed_shape_of(type).minima ? 2 * 0.1 * 63 : 0.0;
            double want = accumulate ? y[i * ys + j] : 0.0, magnitude = std::fabs(want);
            for (std::size_t c = 0; c < k; ++c) {
              const double element = packed_element(type, w.data(), k, j, c);
              want += wide[i * k + c] * element;
              magnitude += std::fabs(wide[i * k + c]) * (std::fabs(element) + minima);
            }
            const double roundings = 4.0 + static_cast<double>(k / 32) * 6.0;
            REQUIRE(std::fabs(got[i * ys + j] - want) <= roundings * kEps * magnitude);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace pc::simd
