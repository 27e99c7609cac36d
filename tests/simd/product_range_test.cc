// Products and the rounding of activations to 8 bits on rows that are hard
// (tests/simd/hard_rows.h), by every instruction set and type of weights, against double precision.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "simd/kernels.h"
#include "simd/packed/packed.h"
#include "simd/quantised_rows.h"
#include "tests/simd/hard_rows.h"
#include "tests/simd/packed/packed_variants.h"
#include "tests/support/quant_blocks.h"
#include "tests/support/random.h"

namespace pc::simd {
namespace {

using test::kQuantisedTypes;
using test::Random;

constexpr double kEps = std::numeric_limits<float>::epsilon();
constexpr double kLargest = std::numeric_limits<float>::max();
constexpr std::size_t kCols = 512, kWeightRows = 18;

// All the rows, and those that are broken after them: [m, kCols].
struct Activations {
  std::vector<HardRow> rows;
  std::vector<float> x;
  std::size_t m = 0, n_finite = 0;

  explicit Activations(Random& random) : rows(finite_rows(random, kCols)), n_finite(rows.size()) {
    for (HardRow& row : broken_rows(random, kCols)) rows.push_back(std::move(row));
    for (const HardRow& row : rows) x.insert(x.end(), row.x.begin(), row.x.end());
    m = rows.size();
  }
};

struct Sum {
  double value = 0.0, magnitude = 0.0;
  void add(double a, double b, double other = 0.0) {
    value += a * b;
    magnitude += std::fabs(a) * (std::fabs(b) + other);
  }
  // Where the magnitudes add up to no float, sums in f32 may overflow on their way, and show it.
  bool allows(float got, double roundings, double least) const {
    if (!std::isfinite(value)) return !std::isfinite(got);
    if (!std::isfinite(got)) return magnitude * (1.0 + roundings * kEps) > kLargest;
    return std::fabs(got - value) <= roundings * kEps * magnitude + least;
  }
};

std::vector<std::uint8_t> stored(Random& random, Type type) {
  const std::size_t n = kWeightRows * kCols;
  if (is_quantised(type)) return test::random_blocks(random, type, n, 0.1f);
  std::vector<std::uint8_t> bytes(bytes_of(type, n));
  for (std::size_t i = 0; i < n; ++i) {
    const float w = random.symmetric();
    const std::uint16_t half =
        type == Type::kBf16 ? bf16_from_f32(w) : static_cast<std::uint16_t>(random.next() & 0xbbff);
    if (type == Type::kF32) std::memcpy(bytes.data() + 4 * i, &w, 4);
    if (type != Type::kF32) std::memcpy(bytes.data() + 2 * i, &half, 2);
  }
  return bytes;
}

TEST_CASE("products of rows that are hard") {
  Random random(1);
  const Activations a(random);
  std::vector<Type> types = {Type::kF32, Type::kF16, Type::kBf16};
  types.insert(types.end(), std::begin(kQuantisedTypes), std::end(kQuantisedTypes));
  for (const Type type : types) {
    const auto w = stored(random, type);
    std::vector<float> wide(kWeightRows * kCols);
    kScalarKernels.to_f32(w.data(), type, wide.size(), wide.data());
    for (const Kernels* isa : supported_kernels()) {
      // One row is another way than many.
      std::vector<float> many(a.m * kWeightRows), one(many.size());
      isa->matmul({a.x.data(), w.data(), many.data(), kCols, kWeightRows, a.m, kCols, 0,
                   kWeightRows, type, false});
      for (std::size_t i = 0; i < a.m; ++i)
        isa->matmul({a.x.data() + i * kCols, w.data(), one.data() + i * kWeightRows, kCols,
                     kWeightRows, 1, kCols, 0, kWeightRows, type, false});
      for (std::size_t i = 0; i < a.m; ++i) {
        for (std::size_t j = 0; j < kWeightRows; ++j) {
          INFO(isa->name << ", " << shape_of(type).name << ", " << a.rows[i].name << ", column "
                         << j);
          Sum want;
          for (std::size_t c = 0; c < kCols; ++c) want.add(a.x[i * kCols + c], wide[j * kCols + c]);
          for (const auto* got : {&many, &one}) {
            const float y = (*got)[i * kWeightRows + j];
            if (!want.allows(y, kCols + 2, kCols * 0x1p-149)) FAIL(y << " for " << want.value);
          }
        }
      }
    }
  }
}

std::vector<std::byte> quantised(const Kernels& table, const Activations& a) {
  std::vector<std::byte> bytes(quantised_bytes(a.m, kCols), std::byte{0x5a});
  table.quantise({a.x.data(), bytes.data(), a.m, kCols, 0, a.m, 0, kCols / 32});
  return bytes;
}

TEST_CASE(
    "rows that are hard in 8 bits: the same in all tables, near enough, NaN where one is none") {
  Random random(2);
  for (int round = 0; round < 8; ++round) {
    const Activations a(random);
    const auto want = quantised(kScalarKernels, a);
    for (const Kernels* isa : supported_kernels()) {
      INFO(isa->name);
      REQUIRE(quantised(*isa, a) == want);
    }
    for (std::size_t g = 0; g < a.x.size(); g += 32) {
      const std::size_t row = g / kCols;
      float largest = 0.0f, scale;
      bool finite = true;
      for (std::size_t c = g; c < g + 32; ++c) {
        finite = finite && std::isfinite(a.x[c]);
        largest = std::fmax(largest, std::fabs(a.x[c]));
      }
      const RowOffsets place = offsets_of_row(a.m, row, kCols);
      std::memcpy(&scale, want.data() + place.note + g % kCols / 32 * place.step, sizeof scale);
      INFO(a.rows[row].name << ", group " << g % kCols / 32);
      REQUIRE(std::isnan(scale) != finite);
      if (!finite) continue;
      // Half a step, and roundings of codes up to 254; at most a step of the largest's 127th.
      REQUIRE(double{scale} <= largest / 127.0 * (1.0 + kEps));
      const double most = largest < kQuantisedFloor ? double{largest} : scale * (0.5 + 512 * kEps);
      for (std::size_t c = g; c < g + 32; ++c) {
        const double back = quantised_element(want.data(), a.m, kCols, row, c % kCols);
        REQUIRE(std::fabs(back - a.x[c]) <= most);
      }
    }
  }
}

TEST_CASE("packed products of rows that are hard") {
  Random random(3);
  const Activations a(random);
  const auto x = quantised(kScalarKernels, a);
  for (const Type type : kQuantisedTypes) {
    const auto blocks = test::random_blocks(random, type, kWeightRows * kCols, 0.1f);
    std::vector<std::byte> w(packed_bytes(type, kWeightRows, kCols));
    for (std::size_t p = 0; p < 2; ++p)
      pack_panel(type, blocks.data(), kWeightRows, kCols, p, w.data());
    // A minimum is summed apart from scale * code.
    const double minima = packed_shape_of(type).minima ? 2 * 0.1 * 63 : 0.0;
    for (const PackedVariant& variant : packed_variants()) {
      std::vector<float> y(a.m * kWeightRows);
      variant.product(
          {x.data(), w.data(), y.data(), kWeightRows, a.m, kCols, kWeightRows, 0, 2, type, false});
      for (std::size_t i = 0; i < a.m; ++i) {
        for (std::size_t j = 0; j < kWeightRows; ++j) {
          Sum want;
          for (std::size_t c = 0; c < kCols; ++c)
            want.add(quantised_element(x.data(), a.m, kCols, i, c),
                     packed_element(type, w.data(), kCols, j, c), minima);
          INFO(variant.name << ", " << shape_of(type).name << ", " << a.rows[i].name << ", column "
                            << j);
          const float got = y[i * kWeightRows + j];
          if (!want.allows(got, 4.0 + kCols / 32 * 6.0, kCols * 0x1p-149))
            FAIL(got << " for " << want.value);
        }
      }
    }
  }
}

}  // namespace
}  // namespace pc::simd
