// Chains: where links end, and what tells them apart, follows from what stands before alone.

#include "runtime/prompt/chain.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "tests/modules/support.h"
#include "tests/support/random.h"

namespace pc::test {
namespace {

// What a conversation holds, step by step.
struct Event {
  enum class Kind { kTokens, kEndTurn, kAttach, kGap, kHidden } kind;
  Tokens tokens;
};

std::vector<Event> random_events(Random& random, std::size_t n) {
  std::vector<Event> events;
  for (std::size_t i = 0; i < n; ++i) {
    const auto kind = static_cast<Event::Kind>(random.below(100) < 60 ? 0 : random.below(5));
    Event event{kind, {}};
    if (kind == Event::Kind::kTokens || kind == Event::Kind::kHidden) {
      event.tokens.resize(1 + random.below(300));
      for (TokenId& token : event.tokens) token = static_cast<TokenId>(random.below(1000));
    }
    events.push_back(event);
  }
  return events;
}

// `at_once`: a text's tokens in one call, or each in its own.
Chain build(const ModuleIdentity& base, std::span<const Event> events, bool at_once,
            Position* end = nullptr) {
  Chain chain(base);
  Position at = 0;
  for (const Event& event : events) {
    switch (event.kind) {
      case Event::Kind::kTokens:
      case Event::Kind::kHidden: {
        const bool may_be_stored = event.kind == Event::Kind::kTokens;
        const std::size_t step = at_once ? event.tokens.size() : 1;
        for (std::size_t i = 0; i < event.tokens.size(); i += step)
          chain.append(std::span(event.tokens).subspan(i, step), at + static_cast<Position>(i),
                       may_be_stored);
        at += static_cast<Position>(event.tokens.size());
        break;
      }
      case Event::Kind::kEndTurn:
        chain.end_turn();
        break;
      case Event::Kind::kAttach: {
        ModuleKey key;
        key.digest[0] = 7;
        chain.attach(key, 0, 20, at);
        at += 20;
        break;
      }
      case Event::Kind::kGap:
        ++at;
        break;
    }
  }
  if (end) *end = at;
  return chain;
}

std::vector<std::string> kept_keys(const Chain& chain, const ModuleIdentity& base) {
  std::vector<std::string> keys;
  for (const Chain::Link& link : chain.links())
    if (link.is_kept()) keys.push_back(key_of(Chain::identity(link, base)).hex());
  return keys;
}

bool same_links(const Chain& a, const Chain& b) {
  return std::ranges::equal(a.links(), b.links(), [](const auto& x, const auto& y) {
    return x.context == y.context && x.position == y.position && x.tokens == y.tokens &&
           x.may_be_stored == y.may_be_stored && x.is_kept() == y.is_kept();
  });
}

}  // namespace

TEST_CASE("a link's borders and key follow from what stands before its end alone") {
  Random random(17);
  const ModuleIdentity base = identity();
  for (int round = 0; round < 200; ++round) {
    std::vector<Event> one = random_events(random, 12), other = random_events(random, 12);
    const std::size_t n_common = random.below(12);
    std::copy_n(one.begin(), n_common, other.begin());
    const Chain a = build(base, one, true), b = build(base, other, false);
    CHECK(same_links(a, build(base, one, false)));
    const auto common = kept_keys(build(base, std::span(one).first(n_common), true), base);
    const auto keys_a = kept_keys(a, base), keys_b = kept_keys(b, base);
    REQUIRE(keys_a.size() >= common.size());
    REQUIRE(keys_b.size() >= common.size());
    CHECK(std::equal(common.begin(), common.end(), keys_a.begin()));
    CHECK(std::equal(common.begin(), common.end(), keys_b.begin()));
    CHECK(std::set(keys_a.begin(), keys_a.end()).size() == keys_a.size());
    for (const Chain::Link& link : a.links()) {
      CHECK(link.tokens.size() <= Chain::kMaxTokens);
      CHECK(check_identity(Chain::identity(link, base)).ok());
    }
  }
}

TEST_CASE("what stands before a link is in its key: text, module, place and order") {
  const ModuleIdentity base = identity();
  const Tokens first(100, 1), second(100, 2);
  const auto key_behind = [&](auto before) {
    Chain chain(base);
    before(chain);
    chain.append(second, 200);
    chain.end_turn();
    return kept_keys(chain, base).back();
  };
  ModuleKey module, other;
  module.digest[3] = 1;
  other.digest[3] = 2;
  std::set<std::string> keys = {
      key_behind([](Chain&) {}),
      key_behind([&](Chain& c) { c.append(first, 0); }),
      key_behind([&](Chain& c) { c.append(first, 100); }),
      key_behind([&](Chain& c) { c.append(Tokens(100, 3), 0); }),
      key_behind([&](Chain& c) { c.attach(module, 0, 9, 0); }),
      key_behind([&](Chain& c) { c.attach(module, 1, 9, 0); }),
      key_behind([&](Chain& c) { c.attach(module, 0, 8, 0); }),
      key_behind([&](Chain& c) { c.attach(module, 0, 9, 1); }),
      key_behind([&](Chain& c) { c.attach(other, 0, 9, 0); }),
      key_behind([&](Chain& c) { c.attach(module, 0, 9, 0), c.attach(other, 0, 9, 9); }),
      key_behind([&](Chain& c) { c.attach(other, 0, 9, 0), c.attach(module, 0, 9, 9); }),
      key_behind([&](Chain& c) { c.append(first, 0), c.attach(module, 0, 9, 150); }),
  };
  CHECK(keys.size() == 12);
}

TEST_CASE("a chain that went back is as if it had not gone on") {
  Random random(5);
  const ModuleIdentity base = identity();
  for (int round = 0; round < 200; ++round) {
    // Nothing is attached behind the point to go back to.
    std::vector<Event> events = random_events(random, 5);
    Position at = 0;
    const Chain before = build(base, events, true, &at);
    if (before.links().empty() || before.links().back().end() != at) continue;
    Chain chain = before;
    chain.computed();
    chain.append(Tokens(random.below(400), 4), at);
    chain.end_turn();
    chain.append(Tokens(random.below(90), 5), chain.links().back().end());
    chain.rewind(at);
    CHECK(chain.n_computed() == [&] {
      std::uint32_t n = 0;
      for (const auto& link : before.links()) n += static_cast<std::uint32_t>(link.tokens.size());
      return n;
    }());
    Chain again = before;
    CHECK(same_links(chain, again));
    const Tokens more(150, 6);
    chain.append(more, at);
    again.append(more, at);
    CHECK(same_links(chain, again));
    CHECK(chain.tokens(at, at + 150) == more);
  }
}

TEST_CASE("of a timeline that has less than the chain, the rest is missing again") {
  const ModuleIdentity base = identity();
  Random random(5);
  const auto events = random_events(random, 8);
  for (std::uint32_t n = 0; n < 2000; n += 97) {
    Chain chain = build(base, events, true);
    chain.computed();
    const std::uint32_t all = chain.n_computed(), left = std::min(n, all);
    chain.keep_computed(left);
    REQUIRE(chain.n_computed() == left);
    std::vector<pc_run> runs;
    chain.add_missing(&runs);
    std::uint32_t n_missing = 0;
    for (const pc_run& run : runs) n_missing += run.n_tokens;
    REQUIRE(n_missing == all - left);
  }
}

TEST_CASE("what is missing is what is neither found nor computed") {
  const ModuleIdentity base = identity();
  Chain chain(base);
  chain.append(Tokens(600, 1), 0);
  REQUIRE(chain.links().size() == 3);
  chain.links()[1].attached = true;
  std::vector<pc_run> runs;
  chain.add_missing(&runs);
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].n_tokens == 256);
  CHECK(runs[1].position == 512);
  CHECK(runs[1].n_tokens == 88);
  CHECK(runs[1].extend == 0);
  chain.computed();
  CHECK(chain.n_computed() == 344);
  chain.append(Tokens(1, 2), 600);
  runs.clear();
  chain.add_missing(&runs);
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].position == 600);
  CHECK(runs[0].extend == 1);
  CHECK(*runs[0].tokens == 2);
}

TEST_CASE("states of recurrent layers are kept behind turns and now and then") {
  ModuleIdentity base = identity();
  const auto built = [&base](std::span<const std::uint32_t> turns) {
    Chain chain(base);
    Position at = 0;
    for (const std::uint32_t n : turns) {
      chain.append(Tokens(n, 7), at);
      chain.end_turn();
      at += static_cast<Position>(n);
    }
    chain.append(Tokens(10, 8), at);  // which is no link to be kept yet
    return chain;
  };
  const std::vector<std::uint32_t> turns{100, 100, 300, 40, 50};
  CHECK(built(turns).recurrent_places() == std::vector<bool>(7, false));
  base.n_recurrent = 5;
  // Links: 100, 100, 256 and 44, 40, 50, 10. The second turn is 200 tokens behind the beginning,
  // the third 500; the fifth is the last.
  CHECK(built(turns).recurrent_places() ==
        std::vector<bool>{false, false, false, true, false, true, false});
  const std::vector<std::uint32_t> text{3000};
  Chain long_text = built(text);
  const std::vector<bool> places = long_text.recurrent_places();
  for (std::size_t i = 0; i + 2 < places.size(); ++i) CHECK(places[i] == (i % 4 == 3));
  CHECK(places[places.size() - 2]);
  // A text that ends where a link does has a place before its end, too.
  Chain whole(base);
  whole.append(Tokens(4 * Chain::kMaxTokens, 7), 0);
  CHECK(whole.recurrent_places() == std::vector<bool>{false, false, true, true});
  // A link that is found with states is a place, one that is found without is none.
  long_text.links()[0].attached = long_text.links()[0].recurrent = true;
  CHECK(long_text.recurrent_places()[4]);
  std::vector<pc_run> runs;
  long_text.add_missing(&runs);
  CHECK(runs.size() + 1 == long_text.links().size());
  CHECK((runs[3].keeps_recurrent == 1 && runs[2].keeps_recurrent == 0));
  const Chain::Link& link = long_text.links()[1];
  CHECK(key_of(Chain::identity(link, base)) != key_of(Chain::identity(link, base, true)));
}

}  // namespace pc::test
