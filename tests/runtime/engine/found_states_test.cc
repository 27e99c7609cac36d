// Deterministic precision: whether a module is encoded for a session, or found in the store, makes
// no difference to its logits, not of a bit.

#include <catch2/catch.hpp>
#include <vector>

#include "runtime/session/session.h"
#include "tests/runtime/engine/apartment.h"
#include "tests/support/expect.h"

namespace pc::test {
namespace {

// Behind each token of an answer.
std::vector<std::vector<float>> answer(Session& session) {
  std::vector<std::vector<float>> logits;
  while (must(session.next()))
    logits.emplace_back(session.logits().begin(), session.logits().end());
  return logits;
}

TEST_CASE("a module that is found gives the logits that it gave when it was encoded") {
  for (const KvType type : {KvType::kF32, KvType::kBf16, KvType::kQ8, KvType::kQ4}) {
    INFO(kv_type_name(type));
    Apartment home(type);
    home.precision = Precision::kDeterministic;
    SessionOptions o;
    o.max_tokens = 12;
    o.max_draft = 0;
    home.restart();
    const Turns turns = {{pml::Role::kUser, kLong + " What does it cost?", "doc"}};
    const auto first = home.open(turns, o);
    const auto want = answer(*first);
    REQUIRE(first->stats().modules_encoded > 0);
    home.restart();
    const auto second = home.open(turns, o);
    CHECK(answer(*second) == want);
    CHECK(second->stats().modules_found == first->stats().modules_encoded);
    CHECK(second->stats().modules_encoded == 0);
  }
}

}  // namespace
}  // namespace pc::test
