#include "runtime/constrain/grammar/token_set.h"

#include <catch2/catch.hpp>

#include "tests/support/random.h"

namespace pc::constrain::test {
namespace {

TEST_CASE("few tokens and many are the same set as their bits") {
  pc::test::Random random(1);
  for (const double share : {0.0, 0.001, 0.02, 0.04, 0.5, 1.0}) {
    TokenBits bits(40), others(40);
    for (std::uint32_t i = 0; i < 40 * 32; ++i) {
      if (random.chance(share)) set_token(bits, i);
      if (random.chance(0.3)) set_token(others, i);
    }
    const TokenSet set(bits);
    INFO(share);
    CHECK(set.empty() == (bits == TokenBits(40)));
    TokenBits kept = others, added = others;
    set.keep_in(kept);
    set.add_to(added);
    for (std::size_t w = 0; w < bits.size(); ++w) {
      CHECK(kept[w] == (others[w] & bits[w]));
      CHECK(added[w] == (others[w] | bits[w]));
    }
    CHECK(set.bytes() <= sizeof set + 40 * 4);
  }
}

}  // namespace
}  // namespace pc::constrain::test
