// The matrix product of the forward pass, by its own kernel and by oneDNN: every
// stored type, few rows and many, against a product in double precision.

#include "runtime/gemm.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/bytes.h"  // align_up
#include "tests/support/quant_blocks.h"
#include "tests/support/random.h"

namespace pc {
namespace {

using simd::Type;
using test::Random;

constexpr double kEps = std::numeric_limits<float>::epsilon();

std::vector<std::uint8_t> random_weights(Random& random, Type type, std::size_t n) {
  if (simd::is_quantised(type)) return test::random_blocks(random, type, n, 0.1f);
  std::vector<std::uint8_t> bytes(simd::bytes_of(type, n));
  for (std::size_t i = 0; i < n; ++i) {
    const float x = random.symmetric();
    const std::uint16_t half =
        type == Type::kBf16 ? simd::bf16_from_f32(x) : test::f16_below(std::fabs(x));
    if (type == Type::kF32)
      std::memcpy(bytes.data() + 4 * i, &x, 4);
    else
      std::memcpy(bytes.data() + 2 * i, &half, 2);
  }
  return bytes;
}

std::vector<Type> all_types() {
  std::vector<Type> types{Type::kF32, Type::kF16, Type::kBf16};
  types.insert(types.end(), std::begin(test::kQuantisedTypes), std::end(test::kQuantisedTypes));
  return types;
}

TEST_CASE("linear is the product with the widened weights") {
  constexpr std::uint32_t k = 256, n = 530, max_rows = 48;  // n: one panel and a bit
  Random random(1);
  const simd::Kernels& kernels = *simd::selected_kernels();
  Gemm gemm(kernels, Parallel(2), max_rows, k);
  for (const Type type : all_types()) {
    const auto stored = random_weights(random, type, std::size_t{n} * k);
    std::vector<float> wide(std::size_t{n} * k);
    simd::kScalarKernels.to_f32(stored.data(), type, wide.size(), wide.data());
    const pc_tensor w{stored.data(), static_cast<std::uint32_t>(type), n, k};
    for (const std::uint32_t m : {1u, 8u, 9u, 33u}) {
      INFO(simd::shape_of(type).name << ", " << m << " rows");
      const std::size_t rows = align_up(m, kGemmRowGranule);
      const auto x = random.floats(rows * k), y = random.floats(rows * n);
      auto got = y;
      const bool accumulate = random.chance(0.5);
      REQUIRE(gemm.linear(x.data(), m, w, accumulate, got.data()).ok());
      // Sums of k + 1 products in any order; x itself may be rounded to bf16
      // where the weights are bf16.
      const double unit = (k + 2) * kEps + (type == Type::kBf16 ? 0x1p-8 : 0.0);
      for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          double want = accumulate ? y[i * n + j] : 0.0, magnitude = std::fabs(want);
          for (std::size_t e = 0; e < k; ++e) {
            const double product = double{x[i * k + e]} * wide[j * k + e];
            want += product;
            magnitude += std::fabs(product);
          }
          REQUIRE(std::fabs(got[i * n + j] - want) <= unit * magnitude);
        }
      }
    }
  }
}

}  // namespace
}  // namespace pc
