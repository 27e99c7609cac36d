// The matrix product of the forward pass, by its own kernels and by oneDNN: every
// stored type, few rows and many, against a product in double precision; what
// activations in 8 bits cost; and what oneDNN's scratch takes.

#include "runtime/cpu/products/gemm.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <vector>

#include "base/bytes.h"  // align_up
#include "runtime/packed/packed_weights.h"
#include "simd/packed/packed.h"
#include "tests/support/made_rows.h"
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
  constexpr std::uint32_t k = 256, n = 530, max_rows = 80;  // n: one panel and a bit
  Random random(1);
  const simd::Kernels& kernels = *simd::selected_kernels();
  const auto precision = GENERATE(Precision::kFast, Precision::kExact, Precision::kDeterministic);
  Gemm gemm(kernels, Parallel(2), max_rows, k, nullptr, precision);
  const double bf16_rounding = precision == Precision::kFast ? 0x1p-8 : 0.0;
  for (const Type type : all_types()) {
    const auto stored = random_weights(random, type, std::size_t{n} * k);
    std::vector<float> wide(std::size_t{n} * k);
    simd::kScalarKernels.to_f32(stored.data(), type, wide.size(), wide.data());
    const pc_tensor w{stored.data(), static_cast<std::uint32_t>(type), n, k};
    for (const std::uint32_t m : {1u, 8u, 9u, 33u, 67u}) {
      INFO(simd::shape_of(type).name << ", " << m << " rows");
      const std::size_t rows = align_up(m, kGemmRowGranule);
      const auto x = random.floats(rows * k), y = random.floats(rows * n);
      auto got = y;
      const bool accumulate = random.chance(0.5);
      REQUIRE(gemm.linear({x.data(), m}, w, accumulate, got.data()).ok());
      // Sums of k + 1 products in any order; x itself may be rounded to bf16
      // where the weights are bf16, in exact precision never.
      const double unit = (k + 2) * kEps + (type == Type::kBf16 ? bf16_rounding : 0.0);
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

// Rows as a decoder has them after a norm: nearly normal, rows and columns of
// different sizes, and 1 column in 512 twenty times as large.
std::vector<float> activations(Random& random, std::size_t m, std::size_t k) {
  std::vector<float> column(k), x(m * k);
  for (std::size_t c = 0; c < k; ++c)
    column[c] = std::exp(0.5f * random.symmetric()) * (random.below(512) == 0 ? 20.0f : 1.0f);
  for (std::size_t i = 0; i < x.size(); ++i) {
    float normal = 0.0f;
    for (int term = 0; term < 6; ++term) normal += random.symmetric();
    x[i] = normal * column[i % k];
  }
  return x;
}

// Bytes of address space that this process has taken.
std::size_t taken_bytes() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST_CASE("deterministic precision takes no memory for oneDNN, which it never asks") {
  constexpr std::uint32_t max_rows = 4096, max_k = 16384;  // 128 MiB of x in bf16
  const std::size_t before = taken_bytes();
  const Gemm gemm(*simd::selected_kernels(), Parallel(2), max_rows, max_k, nullptr,
                  Precision::kDeterministic);
  CHECK(taken_bytes() - before < std::size_t{64} << 20);
}

TEST_CASE("packed weights: as near the product with the widened weights as 8 bits allow") {
  constexpr std::uint32_t k = 2048, n = 266, max_rows = 48;
  Random random(2);
  for (const simd::Kernels* kernels : simd::supported_kernels()) {
    if (!kernels->matmul_packed) continue;
    for (const Type type : test::kQuantisedTypes) {
      const auto stored = test::random_blocks(random, type, std::size_t{n} * k, 0.1f);
      std::vector<std::byte> panels(simd::packed_bytes(type, n, k));
      for (std::size_t p = 0; p < (n + 15) / 16; ++p)
        simd::pack_panel(type, stored.data(), n, k, p, panels.data());
      std::vector<float> wide(std::size_t{n} * k);
      kernels->to_f32(stored.data(), type, wide.size(), wide.data());
      const PackedWeights packed({{stored.data(), panels.data()}});
      Gemm gemm(*kernels, Parallel(2), max_rows, k, &packed);
      const bool slow = kernels == &simd::kScalarKernels;
      for (const std::uint32_t m : {1u, slow ? 2u : 33u}) {
        const auto x = activations(random, max_rows, k);
        std::vector<float> y(std::size_t{max_rows} * n);
        const pc_tensor w{stored.data(), static_cast<std::uint32_t>(type), n, k};
        REQUIRE(gemm.linear({x.data(), m}, w, false, y.data()).ok());
        double error = 0.0, norm = 0.0;
        for (std::size_t i = 0; i < m; ++i) {
          for (std::size_t j = 0; j < n; ++j) {
            double want = 0.0;
            for (std::size_t e = 0; e < k; ++e) want += double{x[i * k + e]} * wide[j * k + e];
            error += (y[i * n + j] - want) * (y[i * n + j] - want);
            norm += want * want;
          }
        }
        const double relative = std::sqrt(error / norm);
        INFO(simd::shape_of(type).name << ", " << kernels->name << ", " << m << " rows");
        if (m > 2)
          std::printf("%s %s: %.2f %%\n", kernels->name, simd::shape_of(type).name, 100 * relative);
        REQUIRE(relative < 0.0091);  // what simd/quantised_rows.h allows a group
        REQUIRE(relative > 0.0005);  // it is the integer path
      }
    }
  }
}

TEST_CASE("rows that are made on the way are made once, whatever multiplies them") {
  constexpr std::uint32_t k = 256, n = 530, max_rows = 80;
  Random random(3);
  const auto packed_bytes = random_weights(random, Type::kQ4_0, std::size_t{n} * k);
  std::vector<std::byte> panels(simd::packed_bytes(Type::kQ4_0, n, k));
  for (std::size_t p = 0; p < (n + 15) / 16; ++p)
    simd::pack_panel(Type::kQ4_0, packed_bytes.data(), n, k, p, panels.data());
  const PackedWeights packed({{packed_bytes.data(), panels.data()}});
  Gemm gemm(*simd::selected_kernels(), Parallel(2), max_rows, k, &packed);
  const auto tensor = [](const std::vector<std::uint8_t>& bytes, Type type) {
    return pc_tensor{bytes.data(), static_cast<std::uint32_t>(type), n, k};
  };
  const auto f32 = random_weights(random, Type::kF32, std::size_t{n} * k);
  const auto f16 = random_weights(random, Type::kF16, std::size_t{n} * k);
  const pc_tensor a = tensor(packed_bytes, Type::kQ4_0), b = tensor(f32, Type::kF32),
                  c = tensor(f16, Type::kF16);
  for (const std::uint32_t m : {1u, 9u, 33u, 64u, 80u}) {
    const auto x = random.floats(std::size_t{max_rows} * k);
    for (const auto& ws :
         std::vector<std::vector<pc_tensor>>{{a}, {b}, {c}, {a, b, c}, {c, a, a}}) {
      INFO(m << " rows, " << ws.size() << " products, the first of type " << ws[0].dtype);
      test::check_made_rows(gemm, x, m, ws);
    }
  }
}

}  // namespace
}  // namespace pc
