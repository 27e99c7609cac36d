// Quantised weights: the scalar table against what the package gguf computes,
// every other table against the scalar one, all bit for bit.

#include <catch2/catch.hpp>
#include <cstring>
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
        REQUIRE(same_bits(&got[i], &want[i], 1));
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
