// Quantised weights: the scalar table against what the package gguf computes,
// every other table against the scalar one, all bit for bit (NaN for NaN).

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "simd/kernels.h"
#include "tests/support/fixture.h"
#include "tests/support/quant_blocks.h"
#include "tests/support/random.h"

namespace pc::simd {
namespace {

using test::kQuantisedTypes;
using test::Random;
using test::random_blocks;

constexpr double kEps = std::numeric_limits<float>::epsilon();

bool same_number(float a, float b) {
  return std::isnan(a) ? std::isnan(b) : std::memcmp(&a, &b, sizeof a) == 0;
}

bool same_bits(const float* a, const float* b, std::size_t n) {
  return std::memcmp(a, b, n * sizeof(float)) == 0;
}

TEST_CASE("all tables widen as the package gguf does") {
  for (const Type type : kQuantisedTypes) {
    const TypeShape& shape = shape_of(type);
    INFO(shape.name);
    const std::string file =
        test::read_file(test::golden(std::string("quant/") + shape.name + ".bin"));
    const std::size_t a_block = shape.bytes + shape.elements * sizeof(float);
    REQUIRE(file.size() % a_block == 0);
    const std::size_t n = file.size() / a_block * shape.elements;
    std::vector<float> want(n), got(n);
    std::memcpy(want.data(), file.data() + bytes_of(type, n), n * sizeof(float));
    for (const Kernels* table : supported_kernels()) {
      INFO(table->name);
      table->to_f32(file.data(), type, n, got.data());
      for (std::size_t i = 0; i < n; ++i) {
        INFO("element " << i << ": " << got[i] << " for " << want[i]);
        REQUIRE(same_number(got[i], want[i]));
      }
    }
  }
}

TEST_CASE("all tables widen 1 to 8 random blocks at any address alike") {
  Random random(1);
  for (const Type type : kQuantisedTypes) {
    const TypeShape& shape = shape_of(type);
    INFO(shape.name);
    for (int round = 0; round < 200; ++round) {
      const std::size_t n = shape.elements * (1 + static_cast<std::size_t>(round % 8));
      const auto blocks = random_blocks(random, type, n, 65504.0f);
      // Exactly as many bytes and floats as there are, so that a sanitizer sees one more.
      const std::size_t shift = random.below(16), bytes = bytes_of(type, n);
      const std::unique_ptr<std::uint8_t[]> src(new std::uint8_t[shift + bytes]);
      std::memcpy(src.get() + shift, blocks.data(), bytes);
      std::vector<float> want(n);
      kScalarKernels.to_f32(blocks.data(), type, n, want.data());
      for (const Kernels* table : supported_kernels()) {
        INFO(table->name);
        const std::size_t behind = random.below(16);
        const std::unique_ptr<float[]> got(new float[behind + n]);
        table->to_f32(src.get() + shift, type, n, got.get() + behind);
        REQUIRE(same_bits(got.get() + behind, want.data(), n));
      }
    }
  }
}

TEST_CASE("matmul from blocks is the product with the widened weights") {
  Random random(3);
  for (const Type type : kQuantisedTypes) {
    for (int round = 0; round < 24; ++round) {
      const std::size_t block = shape_of(type).elements;
      const std::size_t k = block * random.between(1, static_cast<std::uint32_t>(1600 / block));
      const std::size_t m = random.between(1, 9), n = random.between(1, 11);
      const std::size_t begin = random.below(static_cast<std::uint32_t>(n + 1));
      const std::size_t xs = k + random.below(3), ys = n + random.below(3);
      const bool accumulate = random.chance(0.5);
      const auto x = random.floats(m * xs), y = random.floats(m * ys);
      const auto w = random_blocks(random, type, n * k, 0.1f);
      std::vector<float> wide(n * k);
      kScalarKernels.to_f32(w.data(), type, n * k, wide.data());
      for (const Kernels* table : supported_kernels()) {
        INFO(shape_of(type).name << " " << table->name << " m " << m << " k " << k << " n " << n);
        auto got = y;
        table->matmul({x.data(), w.data(), got.data(), xs, ys, m, k, begin, n, type, accumulate});
        for (std::size_t i = 0; i < m; ++i) {
          for (std::size_t j = 0; j < ys; ++j) {
            const float result = got[i * ys + j], before = y[i * ys + j];
            if (j < begin || j >= n) {
              REQUIRE(result == before);
              continue;
            }
            double want = accumulate ? before : 0.0, magnitude = std::fabs(want);
            for (std::size_t e = 0; e < k; ++e) {
              const double product = double{x[i * xs + e]} * wide[j * k + e];
              want += product;
              magnitude += std::fabs(product);
            }
            // k products and sums in any order, each rounded by half an epsilon at most.
            REQUIRE(std::fabs(result - want) <= static_cast<double>(k + 2) * kEps * magnitude);
          }
        }
      }
    }
  }
}

TEST_CASE("all_finite sees each scale and minimum, and no other byte") {
  Random random(2);
  for (const Type type : kQuantisedTypes) {
    const TypeShape& shape = shape_of(type);
    INFO(shape.name);
    const std::size_t n_blocks = 9, n = n_blocks * shape.elements;
    auto blocks = random_blocks(random, type, n, 65504.0f);
    for (const Kernels* table : supported_kernels()) {
      INFO(table->name);
      REQUIRE(table->all_finite(blocks.data(), type, 0));
      REQUIRE(table->all_finite(blocks.data(), type, n));
      for (std::size_t block = 0; block < n_blocks; ++block) {
        for (std::size_t s = 0; s < shape.scales; ++s) {
          for (const std::uint16_t half : {0x7c00, 0xfc00, 0x7c01, 0xffff}) {
            std::uint8_t* at = blocks.data() + block * shape.bytes + shape.scale_at + 2 * s;
            std::uint16_t before;
            std::memcpy(&before, at, 2);
            std::memcpy(at, &half, 2);
            REQUIRE_FALSE(table->all_finite(blocks.data(), type, n));
            REQUIRE(table->all_finite(blocks.data(), type, block * shape.elements));
            std::memcpy(at, &before, 2);
          }
        }
      }
    }
  }
}

// Are all of three blocks finite, with these bytes at `at` of the second?
bool all_finite_with(const Kernels& table, Type type, std::size_t at, std::uint8_t byte) {
  const TypeShape& shape = shape_of(type);
  std::vector<std::uint8_t> blocks(3 * shape.bytes);
  blocks[shape.bytes + at] = byte;
  return table.all_finite(blocks.data(), type, 3 * shape.elements);
}

TEST_CASE("all_finite sees scales of 8 bits, and f16 that are scattered") {
  for (const Kernels* table : supported_kernels()) {
    INFO(table->name);
    for (int byte = 0; byte < 256; ++byte) {
      INFO(byte);
      // From 253 on twelve times the scale is over the largest float.
      CHECK(all_finite_with(*table, Type::kMXFP4, 0, static_cast<std::uint8_t>(byte)) ==
            (byte <= 252));
      CHECK(all_finite_with(*table, Type::kMXFP4, 1, static_cast<std::uint8_t>(byte)));
      CHECK(all_finite_with(*table, Type::kNVFP4, 3, static_cast<std::uint8_t>(byte)));
    }
    for (const std::uint16_t half : {0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7c01, 0xffff}) {
      std::vector<std::uint8_t> blocks(3 * 56);
      test::put_iq1_m_scale(blocks.data() + 56, half);
      CHECK(table->all_finite(blocks.data(), Type::kIQ1_M, 3 * 256) == ((half & 0x7fff) < 0x7c00));
    }
  }
}

// Every position of vectors and of what is left over.
template <class T>
void plain_type_is_searched(Type type, T largest, std::initializer_list<T> not_finite) {
  for (const Kernels* table : supported_kernels()) {
    INFO(table->name << " " << shape_of(type).name);
    for (std::size_t n = 0; n < 70; ++n) {
      std::vector<T> values(n, largest);
      REQUIRE(table->all_finite(values.data(), type, n));
      for (std::size_t i = 0; i < n; ++i) {
        for (const T bits : not_finite) {
          values[i] = bits;
          REQUIRE_FALSE(table->all_finite(values.data(), type, n));
        }
        values[i] = largest;
      }
    }
  }
}

TEST_CASE("all_finite sees every element of plain types") {
  plain_type_is_searched<std::uint32_t>(Type::kF32, 0xff7fffff,
                                        {0x7f800000, 0xff800000, 0x7f800001, 0xffffffff});
  plain_type_is_searched<std::uint16_t>(Type::kF16, 0xfbff, {0x7c00, 0xfc00, 0x7c01, 0xffff});
  plain_type_is_searched<std::uint16_t>(Type::kBf16, 0xff7f, {0x7f80, 0xff80, 0x7f81, 0xffff});
}

}  // namespace
}  // namespace pc::simd
