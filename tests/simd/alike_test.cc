// With `alike` a row's products are summed in one order, and always so with packed weights, and so
// is what it attends to: each row of many has the bits that it has alone.

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "simd/kernels.h"
#include "simd/packed/packed.h"
#include "simd/quantised_rows.h"
#include "tests/simd/attend_oracle.h"
#include "tests/support/quant_blocks.h"
#include "tests/support/random.h"

namespace pc::simd {
namespace {

using test::kQuantisedTypes;

constexpr std::size_t kCols = 768, kWeightRows = 37;

std::vector<std::uint8_t> stored(Random& random, Type type) {
  const std::size_t n = kWeightRows * kCols;
  if (packs(type)) return test::random_blocks(random, type, n, 1.0f);
  const std::vector<float> wide = random.floats(n, 1.0f);
  std::vector<std::uint8_t> bytes(bytes_of(type, n));
  std::vector<std::uint16_t> half(n);
  kScalarKernels.to_bf16(wide.data(), n, half.data());
  // Bits of small bf16 numbers are finite f16 numbers as well.
  const void* from = type == Type::kF32 ? static_cast<const void*>(wide.data()) : half.data();
  if (type == Type::kF16)
    for (std::uint16_t& bits : half) bits &= 0xbbff;
  std::memcpy(bytes.data(), from, bytes.size());
  return bytes;
}

TEST_CASE("rows of stored weights: alone as among others") {
  Random random(5);
  std::vector<Type> types = {Type::kF32, Type::kF16, Type::kBf16};
  types.insert(types.end(), std::begin(kQuantisedTypes), std::end(kQuantisedTypes));
  for (const Type type : types) {
    const auto w = stored(random, type);
    for (const Kernels* isa : supported_kernels()) {
      for (const std::size_t m : {2u, 3u, 4u, 5u, 6u, 8u, 9u, 17u}) {
        INFO(isa->name << ", " << shape_of(type).name << ", " << m << " rows");
        const std::vector<float> x = random.floats(m * kCols, 2.0f);
        std::vector<float> many(m * kWeightRows), one(many.size());
        isa->matmul({x.data(), w.data(), many.data(), kCols, kWeightRows, m, kCols, 0, kWeightRows,
                     type, false, true});
        for (std::size_t i = 0; i < m; ++i)
          isa->matmul({x.data() + i * kCols, w.data(), one.data() + i * kWeightRows, kCols,
                       kWeightRows, 1, kCols, 0, kWeightRows, type, false, true});
        REQUIRE(std::memcmp(many.data(), one.data(), many.size() * sizeof(float)) == 0);
      }
    }
  }
}

std::vector<float> packed_products(const Kernels& isa, Type type, const std::byte* packed,
                                   const float* x, std::size_t m) {
  std::vector<std::byte> codes(quantised_bytes(m, kCols));
  isa.quantise({x, codes.data(), m, kCols, 0, m, 0, kCols / 32});
  std::vector<float> y(m * kWeightRows);
  isa.matmul_packed({codes.data(), packed, y.data(), kWeightRows, m, kCols, kWeightRows, 0,
                     (kWeightRows + kPanelRows - 1) / kPanelRows, type, false});
  return y;
}

TEST_CASE("rows of packed weights: alone as among others") {
  Random random(6);
  for (const Type type : kQuantisedTypes) {
    const auto w = test::random_blocks(random, type, kWeightRows * kCols, 1.0f);
    std::vector<std::byte> packed(packed_bytes(type, kWeightRows, kCols));
    for (std::size_t p = 0; p < (kWeightRows + kPanelRows - 1) / kPanelRows; ++p)
      pack_panel(type, w.data(), kWeightRows, kCols, p, packed.data());
    for (const Kernels* isa : supported_kernels()) {
      if (!isa->matmul_packed) continue;
      for (const std::size_t m : {2u, 3u, 4u, 5u, 6u, 7u, 16u, 33u}) {
        INFO(isa->name << ", " << shape_of(type).name << ", " << m << " rows");
        std::vector<float> x = random.floats(m * kCols, 2.0f);
        for (std::size_t i = 0; i < m; i += 3) x[i * kCols + i] = 900.0f;  // rows with second codes
        const std::vector<float> many = packed_products(*isa, type, packed.data(), x.data(), m);
        for (std::size_t i = 0; i < m; ++i) {
          const auto one = packed_products(*isa, type, packed.data(), x.data() + i * kCols, 1);
          REQUIRE(std::memcmp(many.data() + i * kWeightRows, one.data(),
                              one.size() * sizeof(float)) == 0);
        }
      }
    }
  }
}

// Rows [first, first + n) of a problem, in one call.
State attend_rows(const Kernels& isa, const Problem& p, std::size_t first, std::size_t n) {
  State state(p);
  const auto from = [first](const std::vector<float>& of) {
    return of.empty() ? nullptr : of.data() + first;
  };
  isa.attend({p.q.data() + first * p.hd, p.keys.data(), p.values.data(), p.begin.data() + first,
              p.end.data() + first, state.max.data() + first, state.sum.data() + first,
              state.acc.data() + first * p.hd, n, p.hd, p.format, p.softcap, from(p.slope),
              from(p.origin), p.hidden.empty() ? nullptr : p.hidden.data(), 0, true});
  return state;
}

TEST_CASE("rows that attend: alone as among others, whatever the others see") {
  Random random(7);
  for (int round = 0; round < 1500; ++round) {
    const Problem p(random);
    for (const Kernels* isa : supported_kernels()) {
      INFO("round " << round << ", " << isa->name << ", format " << static_cast<int>(p.format)
                    << ", " << p.rows << " rows of " << p.hd << ", " << p.n << " tokens");
      const State many = attend_rows(*isa, p, 0, p.rows);
      for (std::size_t r = 0; r < p.rows; ++r) {
        if (p.begin[r] >= p.end[r]) continue;  // it sees nothing, and is nobody's
        INFO("row " << r << " sees " << p.begin[r] << " to " << p.end[r]);
        const State one = attend_rows(*isa, p, r, 1);
        REQUIRE(many.max[r] == one.max[r]);
        REQUIRE(many.sum[r] == one.sum[r]);
        REQUIRE(std::memcmp(many.acc.data() + r * p.hd, one.acc.data() + r * p.hd,
                            p.hd * sizeof(float)) == 0);
      }
    }
  }
}

}  // namespace
}  // namespace pc::simd
