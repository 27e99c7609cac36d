// Every type of states, sound, and with one number that is none.

#include "runtime/schema/finite_states.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <limits>
#include <vector>

#include "runtime/cpu/states/kv_q4.h"
#include "runtime/cpu/states/kv_row.h"
#include "tests/modules/support.h"

namespace pc {
namespace {

// A module of 19 tokens, where the number at `broken` (of all keys and values of a token, if there
// is such a number) of token 17 in head 1 of layer 1 is `bad`.
Status check(KvType type, std::uint32_t head_dim, std::size_t broken, float bad) {
  ModuleIdentity id = test::identity(0, type);
  id.geometry = KvGeometry(2, 2, head_dim, type);
  id.runs = {{test::numbered(0, 19), 0, true}};
  ModuleImage image = ModuleImage::create(id).value();
  const KvPlanes planes = image.planes(0);
  const KvHead shape = id.geometry.head(0);
  for (std::uint32_t at = 0; at < 8; ++at) {  // layers, heads and blocks
    const KvPlanes block = planes.from_block(at % 2);
    std::byte* const keys = block.keys(at / 4, at / 2 % 2);
    std::byte* const values = block.values(at / 4, at / 2 % 2);
    const std::uint32_t rows = at % 2 == 0 ? 16 : 3;
    std::vector<float> numbers(2 * std::size_t{rows} * head_dim, 0.5f);  // all keys, all values
    const std::size_t half = numbers.size() / 2;
    if (at == 7 && broken < 2 * head_dim)
      numbers[broken / head_dim * half + head_dim + broken % head_dim] = bad;
    if (type == KvType::kQ4)
      write_q4_block(head_dim, rows, numbers.data(), numbers.data() + half, keys, values);
    for (std::uint32_t t = 0; type != KvType::kQ4 && t < rows; ++t)
      write_kv_row(shape, t, numbers.data() + t * head_dim, numbers.data() + half + t * head_dim,
                   keys, values);
  }
  return check_finite(*std::move(image).seal().value(), "cpu");
}

TEST_CASE("a number of a module that is none is found, wherever it stands and however it is kept") {
  for (const KvType type : {KvType::kF32, KvType::kBf16, KvType::kQ8, KvType::kQ4})
    for (const std::uint32_t head_dim : {32u, 64u, 96u}) {
      INFO(kv_type_name(type) << ", head_dim " << head_dim);
      CHECK(check(type, head_dim, SIZE_MAX, 0.0f).ok());
      for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -HUGE_VALF})
        for (std::size_t broken = 0; broken < 2 * head_dim; broken += 5) {
          const Status found = check(type, head_dim, broken, bad);
          REQUIRE_FALSE(found.ok());
          CHECK(found.error().code == Code::kNotFinite);
          CHECK(found.error().message.find("layer 2 of the 2") != std::string::npos);
        }
    }
}

}  // namespace
}  // namespace pc
