// Packing a token's key and value: every number lands where modules/kv.h says, to the
// accuracy that runtime/cpu/states/kv_row.h promises, and no neighbour changes.

#include "runtime/cpu/states/kv_row.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "simd/kernels.h"
#include "tests/modules/support.h"
#include "tests/support/random.h"

namespace pc {
namespace {

using test::Plane;
using test::Random;

struct Block {
  KvHead head;
  std::vector<std::byte> keys, values;

  explicit Block(KvType type, std::uint32_t head_dim, std::byte fill = {})
      : head{type, head_dim}, keys(head.block_bytes(), fill), values(head.block_bytes(), fill) {}

  void write(std::uint32_t token, const std::vector<float>& key, const std::vector<float>& value) {
    write_kv_row(head, token, key.data(), value.data(), keys.data(), values.data());
  }

  const std::byte* at(Plane plane, std::uint32_t token, std::size_t dim) const {
    const auto& bytes = plane == Plane::kKeys ? keys : values;
    return bytes.data() + test::value_offset(head, plane, token, dim);
  }

  // Of dimension `dim`.
  float scale(Plane plane, std::uint32_t token, std::size_t dim) const {
    if (plane == Plane::kKeys) {
      std::uint16_t scale;
      std::memcpy(&scale, at(plane, token, head.dims + dim / 32), sizeof scale);
      return simd::f32_from_bf16(scale);
    }
    float scale;
    std::memcpy(&scale, at(plane, token, head.dims), sizeof scale);
    return scale;
  }

  // The number that is stored for dimension `dim`.
  float stored(Plane plane, std::uint32_t token, std::size_t dim) const {
    const std::byte* from = at(plane, token, dim);
    if (head.type == KvType::kF32) {
      float x;
      std::memcpy(&x, from, sizeof x);
      return x;
    }
    if (head.type == KvType::kBf16) {
      std::uint16_t x;
      std::memcpy(&x, from, sizeof x);
      return simd::f32_from_bf16(x);
    }
    const int byte = std::to_integer<int>(*from);
    const int code = plane == Plane::kKeys ? byte - 128 : byte < 128 ? byte : byte - 256;
    return scale(plane, token, dim) * static_cast<float>(code);
  }
};

double largest(std::span<const float> x) {
  double top = 0.0;
  for (const float v : x) top = std::max(top, std::fabs(static_cast<double>(v)));
  return top;
}

// Half a scale, of keys rounded up to bf16; scale, inverse and product round by 2^-24 of 127 codes.
double q8_bound(Plane plane, const std::vector<float>& row, std::size_t d) {
  const bool key = plane == Plane::kKeys;
  const std::size_t from = key ? d / 32 * 32 : 0,
                    to = key ? std::min(from + 32, row.size()) : row.size();
  const double scale = largest(std::span(row).subspan(from, to - from)) / 127.0;
  return scale * (key ? 1.0 + 0x1p-7 : 1.0) * (0.5 + 127.0 * 4 * 0x1p-24);
}

TEST_CASE("rows come back within their type's rounding, wherever they stand") {
  Random random(1);
  for (const KvType type : {KvType::kF32, KvType::kBf16, KvType::kQ8}) {
    for (int round = 0; round < 50; ++round) {
      const std::uint32_t hd = 4 * random.between(1, 40);
      Block block(type, hd);
      std::vector<std::vector<float>> rows[2];
      for (std::uint32_t t = 0; t < 16; ++t) {
        for (auto& plane : rows)
          plane.push_back(
              random.floats(hd, std::pow(10.0f, static_cast<float>(random.between(0, 8)) - 4.0f)));
        block.write(t, rows[0][t], rows[1][t]);
      }
      for (const Plane plane : {Plane::kKeys, Plane::kValues}) {
        for (std::uint32_t t = 0; t < 16; ++t) {
          const std::vector<float>& row = rows[plane == Plane::kKeys ? 0 : 1][t];
          for (std::size_t d = 0; d < hd; ++d) {
            const double off = std::fabs(static_cast<double>(block.stored(plane, t, d)) - row[d]);
            INFO(kv_type_name(type) << ", token " << t << ", dimension " << d);
            REQUIRE(off <= (type == KvType::kF32    ? 0.0
                            : type == KvType::kBf16 ? std::fabs(row[d]) * 0x1p-8
                                                    : q8_bound(plane, row, d)));
          }
        }
      }
    }
  }
}

TEST_CASE("a row touches its own places alone") {
  Random random(2);
  for (const KvType type : {KvType::kF32, KvType::kBf16, KvType::kQ8}) {
    const std::uint32_t hd = 84;
    for (std::uint32_t token = 0; token < 16; ++token) {
      Block block(type, hd, std::byte{0xa5});
      const Block before = block;
      block.write(token, random.floats(hd), random.floats(hd));
      for (const Plane plane : {Plane::kKeys, Plane::kValues})
        for (std::uint32_t t = 0; t < 16; ++t)
          for (std::size_t d = 0; t != token && d < test::n_elements(block.head, plane); ++d)
            REQUIRE(std::memcmp(block.at(plane, t, d), before.at(plane, t, d),
                                test::element_bytes(block.head, plane, d)) == 0);
    }
  }
}

TEST_CASE("q8: zeros, numbers too small for a scale, and the largest there are") {
  Block block(KvType::kQ8, 8);
  block.write(0, std::vector<float>(8, 0.0f), std::vector<float>(8, 1e-38f));
  block.write(1, std::vector<float>(8, std::numeric_limits<float>::max()),
              std::vector<float>(8, -std::numeric_limits<float>::max()));
  for (std::size_t d = 0; d < 8; ++d) {
    REQUIRE(block.stored(Plane::kKeys, 0, d) == 0.0f);
    REQUIRE(block.stored(Plane::kValues, 0, d) == 0.0f);
    REQUIRE(block.stored(Plane::kKeys, 1, d) >= 0.995f * std::numeric_limits<float>::max());
    REQUIRE(block.stored(Plane::kValues, 1, d) <= -0.999f * std::numeric_limits<float>::max());
  }
}

// An outlier takes the fine steps from the dimensions that share its scale, and from no others.
TEST_CASE("q8: a key has a scale for each 32 dimensions") {
  for (const std::size_t outlier : {0u, 31u, 32u, 70u}) {
    Block block(KvType::kQ8, 72);
    std::vector<float> row(72, 1.0f);
    row[outlier] = 1e4f;
    block.write(5, row, row);
    for (std::size_t d = 0; d < 72; ++d) {
      if (d == outlier) continue;
      CHECK((block.stored(Plane::kKeys, 5, d) == 0.0f) == (d / 32 == outlier / 32));
      CHECK(block.stored(Plane::kValues, 5, d) == 0.0f);
    }
  }
}

TEST_CASE("q8: a number that is none shows in the key's scales, which who does not see it drops") {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const float bad : {kInf, -kInf, std::numeric_limits<float>::quiet_NaN()}) {
    for (const bool in_key : {true, false}) {
      Block block(KvType::kQ8, 40);
      std::vector<float> row(40, 1.0f), good = row;
      row[5] = bad;
      block.write(3, in_key ? row : good, in_key ? good : row);
      for (const std::size_t d : {0u, 39u}) CHECK(std::isnan(block.scale(Plane::kKeys, 3, d)));
      CHECK(std::isfinite(block.scale(Plane::kValues, 3, 0)));
    }
  }
}

TEST_CASE("what was written is read again, as accurate as its type") {
  Random random(9);
  for (int round = 0; round < 60; ++round) {
    const KvType type = KvType{1 + static_cast<std::uint32_t>(round % 3)};
    const std::uint32_t hd = 4 * random.between(1, 24);
    Block block(type, hd);
    const std::uint32_t token = random.below(kKvBlockTokens);
    const auto key = random.floats(hd, 3.0f), value = random.floats(hd, 3.0f);
    block.write(token, key, value);
    // In the second of two layers, behind two tokens that the segment leaves out.
    const KvGeometry layers({{1, 48}, {1, hd}}, type);
    std::vector<std::byte> bytes(layers.state_bytes(1));
    const KvPlanes planes = dense_planes(bytes.data(), layers, 1);
    std::ranges::copy(block.keys, planes.keys(1, 0));
    std::ranges::copy(block.values, planes.values(1, 0));
    KvSegment segment{{planes.data, &layers, 1, 0}};
    segment.begin = std::min(token, 2u);
    std::vector<float> got_key(hd), got_value(hd);
    read_kv_key(segment, token - segment.begin, 1, 0, got_key.data());
    read_kv_values(segment, token - segment.begin, 1, got_value.data());
    const float off = type == KvType::kF32 ? 0.0f : type == KvType::kBf16 ? 3.0f / 256 : 3.0f / 253;
    for (std::uint32_t d = 0; d < hd; ++d) {
      REQUIRE(std::fabs(got_key[d] - key[d]) <= off);
      REQUIRE(std::fabs(got_value[d] - value[d]) <= off);
    }
  }
}

}  // namespace
}  // namespace pc
