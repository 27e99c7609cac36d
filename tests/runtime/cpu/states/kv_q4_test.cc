// States in 4 bits: how far from what was written they are, where codes and scales lie, and what is
// no number. What kernels make of them: tests/simd/attend_test.cc.

#include "runtime/cpu/states/kv_q4.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "runtime/cpu/states/kv_row.h"
#include "simd/kernels.h"
#include "tests/modules/support.h"
#include "tests/support/random.h"

namespace pc {
namespace {

using test::Plane;
using test::Random;
using Row = std::vector<float>;

// Rows of keys and values, and a block of each.
struct Block {
  KvHead head;
  std::uint32_t n_rows;
  Row k, v;  // [n_rows, head_dim]
  std::vector<std::byte> keys, values;

  Block(Random& random, std::uint32_t head_dim, std::uint32_t rows)
      : head{KvType::kQ4, head_dim},
        n_rows(rows),
        k(random.floats(std::size_t{rows} * head_dim, 3.0f)),
        v(random.floats(std::size_t{rows} * head_dim)),
        keys(head.block_bytes(), std::byte{0xa5}),
        values(keys) {}

  void write() {
    write_q4_block(head.dims, n_rows, k.data(), v.data(), keys.data(), values.data());
  }
  float& at(Plane plane, std::uint32_t token, std::size_t dim) {
    return (plane == Plane::kKeys ? k : v)[std::size_t{token} * head.dims + dim];
  }
  Row read(Plane plane, std::uint32_t token) const {
    Row row(head.dims);
    if (plane == Plane::kKeys)
      read_q4_key(head.dims, token, keys.data(), row.data());
    else
      read_q4_value(head.dims, token, values.data(), row.data());
    return row;
  }
  // By modules/kv.h alone.
  float stored(Plane plane, std::uint32_t token, std::size_t dim) const {
    const std::byte* const bytes = (plane == Plane::kKeys ? keys : values).data();
    const auto code = static_cast<float>(
        std::to_integer<int>(bytes[test::value_offset(head, plane, token, dim)] >>
                             test::q4_shift(plane, token, dim)) &
        15);
    std::uint16_t pair[2];
    std::memcpy(pair, bytes + test::q4_pair_offset(head, plane, token, dim), sizeof pair);
    return code * simd::f32_from_bf16(pair[0]) + simd::f32_from_bf16(pair[1]);
  }
  // Half a step of a fifteenth of the range; the least number is off by 2^-9 of itself, and the
  // step by as much, fifteen times.
  double bound(Plane plane, std::uint32_t token, std::size_t dim) {
    float least = HUGE_VALF, most = -HUGE_VALF;
    const bool key = plane == Plane::kKeys;
    const std::size_t first = key ? dim : dim / 16 * 16, end = key ? dim + 1 : first + 16;
    for (std::uint32_t t = key ? 0 : token; t < (key ? n_rows : token + 1); ++t)
      for (std::size_t d = first; d < end; ++d) {
        least = std::min(least, at(plane, t, d));
        most = std::max(most, at(plane, t, d));
      }
    const double range = double{most} - least;
    return range / 30 + range * 0x1p-8 + std::fabs(least) * 0x1p-8;
  }
};

TEST_CASE("q4 numbers are within half a step, and lie where modules/kv.h says") {
  Random random(1);
  for (const std::uint32_t hd : {16u, 32u, 64u, 80u, 128u, 512u}) {
    for (const std::uint32_t rows : {1u, 2u, 9u, 15u, 16u}) {
      Block block(random, hd, rows);
      // Dimensions and tokens of all sizes, and dimensions far from zero.
      for (std::uint32_t t = 0; t < rows; ++t)
        for (std::size_t d = 0; d < hd; ++d) {
          block.at(Plane::kKeys, t, d) *= std::ldexp(1.0f, static_cast<int>(d % 20) - 10);
          if (d % 7 == 3) block.at(Plane::kKeys, t, d) += d % 2 ? 500.0f : -500.0f;
          block.at(Plane::kValues, t, d) *= std::ldexp(1.0f, static_cast<int>(t));
        }
      block.write();
      for (const Plane plane : {Plane::kKeys, Plane::kValues})
        for (std::uint32_t t = 0; t < rows; ++t) {
          const Row got = block.read(plane, t);
          for (std::size_t d = 0; d < hd; ++d) {
            REQUIRE(got[d] == block.stored(plane, t, d));
            INFO("head_dim " << hd << ", token " << t << ", dimension " << d);
            REQUIRE(std::fabs(double{got[d]} - block.at(plane, t, d)) <= block.bound(plane, t, d));
          }
        }
    }
  }
}

// Fifteen even steps over a range of 2 leave (2 / 15)^2 / 12 of a square of 1 / 3, or 0.44 %; the
// range of 16 uniform numbers is a little less, and its two ends are exact.
TEST_CASE("q4 leaves a third of a hundredth of the square of uniform rows") {
  Random random(2);
  double off[2] = {}, all[2] = {};
  for (int round = 0; round < 200; ++round) {
    Block block(random, 64, 16);
    block.write();
    for (const Plane plane : {Plane::kKeys, Plane::kValues})
      for (std::uint32_t t = 0; t < 16; ++t) {
        const Row got = block.read(plane, t);
        for (std::size_t d = 0; d < 64; ++d) {
          const double x = block.at(plane, t, d);
          off[plane == Plane::kKeys] += (got[d] - x) * (got[d] - x);
          all[plane == Plane::kKeys] += x * x;
        }
      }
  }
  for (const int i : {0, 1}) {
    CHECK(off[i] <= 0.0040 * all[i]);
    CHECK(off[i] >= 0.0020 * all[i]);  // they are not kept as anything finer
  }
}

TEST_CASE("numbers of sixteen even steps come back as they are") {
  Random random(3);
  Block block(random, 32, 16);
  for (std::uint32_t t = 0; t < 16; ++t)
    for (std::uint32_t d = 0; d < 32; ++d) {
      block.at(Plane::kKeys, t, d) =
          std::ldexp(static_cast<float>(t) - 4.0f, -static_cast<int>(d % 9));
      block.at(Plane::kValues, t, d) =
          std::ldexp(static_cast<float>(d % 16) - 9.0f, -static_cast<int>(t));
    }
  block.write();
  for (const Plane plane : {Plane::kKeys, Plane::kValues})
    for (std::uint32_t t = 0; t < 16; ++t) {
      const Row got = block.read(plane, t);
      for (std::size_t d = 0; d < 32; ++d) REQUIRE(got[d] == block.at(plane, t, d));
    }
}

TEST_CASE("q4: zeros, numbers that are all the same, and the smallest and largest there are") {
  Random random(4);
  Block block(random, 64, 3);
  const float most = std::numeric_limits<float>::max();
  for (std::uint32_t t = 0; t < 3; ++t)
    for (std::size_t d = 0; d < 64; ++d) {
      block.at(Plane::kKeys, t, d) = d == 0 ? 0.0f : d == 1 ? -7.0f : 1e-38f;
      block.at(Plane::kValues, t, d) = t == 0 ? 0.0f : t == 1 ? -7.0f : 1e-38f;
    }
  block.at(Plane::kValues, 0, 40) = most / 4;
  block.write();
  CHECK(block.read(Plane::kKeys, 1)[0] == 0.0f);
  CHECK(block.read(Plane::kKeys, 1)[1] == Approx(-7.0f).epsilon(0.01));
  CHECK(std::fabs(block.read(Plane::kKeys, 1)[2]) <= 1e-6f);
  CHECK(block.read(Plane::kValues, 0)[1] == 0.0f);
  CHECK(block.read(Plane::kValues, 0)[40] == Approx(most / 4).epsilon(0.01));
  CHECK(block.read(Plane::kValues, 1)[1] == Approx(-7.0f).epsilon(0.01));
  CHECK(std::fabs(block.read(Plane::kValues, 2)[2]) <= 1e-37f);
}

TEST_CASE("q4: what cannot be kept makes its step NaN, and no other") {
  Random random(5);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), HUGE_VALF, -HUGE_VALF, 3e38f}) {
    Block block(random, 64, 16);
    block.at(Plane::kKeys, 2, 40) = bad;
    block.at(Plane::kKeys, 3, 40) = -3e38f;
    block.at(Plane::kValues, 2, 40) = bad;
    block.at(Plane::kValues, 2, 41) = -3e38f;  // with 3e38 a range that is no float
    block.write();
    for (std::uint32_t t = 0; t < 16; ++t)
      for (std::size_t d = 0; d < 64; ++d) {
        CHECK(std::isnan(block.read(Plane::kKeys, t)[d]) == (d == 40));
        CHECK(std::isnan(block.read(Plane::kValues, t)[d]) == (t == 2 && d / 16 == 2));
      }
  }
}

TEST_CASE("rows are packed anew block by block, and nothing stands behind the last") {
  Random random(6);
  const KvGeometry bf16{2, 3, 64, KvType::kBf16}, q4{2, 3, 64, KvType::kQ4};
  const std::uint32_t n = 37;
  std::vector<std::byte> from(bf16.state_bytes(kv_blocks(n))), to(q4.state_bytes(kv_blocks(n)));
  const KvPlanes source = dense_planes(from.data(), bf16, kv_blocks(n)),
                 target = dense_planes(to.data(), q4, kv_blocks(n));
  const KvSegment segment{{source.data, &bf16, source.plane_blocks, 0}, 0, n, 0, 0};
  std::vector<std::byte> want(to.size());
  for (std::uint32_t layer = 0; layer < 2; ++layer)
    for (std::uint32_t head = 0; head < 3; ++head)
      for (std::uint32_t first = 0; first < n; first += 16) {
        Block block(random, 64, std::min(n - first, 16u));
        for (Row* plane : {&block.k, &block.v})
          for (float& x : *plane) x = simd::f32_from_bf16(simd::bf16_from_f32(x));
        block.write();
        const KvPlanes rows = source.from_block(first / 16), goal = target.from_block(first / 16);
        for (std::uint32_t t = 0; t < block.n_rows; ++t)
          write_kv_row(bf16.head(layer), t, block.k.data() + 64 * t, block.v.data() + 64 * t,
                       rows.keys(layer, head), rows.values(layer, head));
        std::ranges::copy(block.keys, want.begin() + (goal.keys(layer, head) - to.data()));
        std::ranges::copy(block.values, want.begin() + (goal.values(layer, head) - to.data()));
      }
  repack_rows(segment, n, target);
  CHECK(to == want);
  // What seal() does to a module changes nothing.
  clear_rows(target.from_block(n / 16), n % 16);
  CHECK(to == want);
}

TEST_CASE("rows of q4 are cleared one by one") {
  const KvGeometry q4{1, 1, 64, KvType::kQ4};
  std::vector<std::byte> bytes(q4.state_bytes(1), std::byte{0xff});
  const KvPlanes block = dense_planes(bytes.data(), q4, 1);
  for (const std::uint32_t kept : {11u, 8u, 3u, 0u}) {
    clear_rows(block, kept);
    for (const Plane plane : {Plane::kKeys, Plane::kValues}) {
      const std::byte* const at = plane == Plane::kKeys ? block.keys(0, 0) : block.values(0, 0);
      for (std::uint32_t row = 0; row < 16; ++row)
        for (std::size_t d = 0; d < 64; ++d) {
          const auto byte = at[test::value_offset(q4.head(0), plane, row, d)];
          const int code = std::to_integer<int>(byte >> test::q4_shift(plane, row, d)) & 15;
          REQUIRE(code == (row < kept ? 15 : 0));
          if (plane == Plane::kValues)
            REQUIRE(at[test::q4_pair_offset(q4.head(0), plane, row, d)] ==
                    (row < kept ? std::byte{0xff} : std::byte{0}));
        }
    }
  }
}

}  // namespace
}  // namespace pc
