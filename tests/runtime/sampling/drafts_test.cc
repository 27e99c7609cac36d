// Several tokens a step change when tokens come, and never which: beside a session that drafts
// nothing, whatever is drawn from, and whatever is done between two tokens.
#include "runtime/sampling/drafts.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "tests/runtime/engine/apartment.h"

namespace pc::test {
namespace {

constexpr float kRounding = 1e-4f;  // of logits of about one, in another order of sums

// Few words, so that texts repeat themselves, and not for ever.
SessionOptions few_words(std::uint32_t seed, float temperature, std::uint32_t n_words) {
  SessionOptions o;
  o.max_tokens = 120;
  o.sampler.temperature = temperature;
  o.sampler.seed = seed;
  o.mask = [n_words](std::span<std::uint32_t> allowed, const DrawPlace&) {
    std::ranges::fill(allowed, 0u);
    for (std::uint32_t i = 0; i < n_words; ++i) allowed[(300 + i) / 32] |= 1u << (300 + i) % 32;
    return true;
  };
  return o;
}

SessionOptions undrafted(SessionOptions o) {
  o.max_draft = 0;
  return o;
}

Tokens rest_of(Session& session) {
  Tokens tokens;
  while (const auto token = must(session.next())) tokens.push_back(*token);
  return tokens;
}

float apart(const Session& a, const Session& b) {
  float most = 0;
  for (std::size_t i = 0; i < b.logits().size(); ++i)
    most = std::max(most, std::fabs(a.logits()[i] - b.logits()[i]));
  return most;
}

TEST_CASE("an answer with drafts has the tokens and the logits of one without") {
  Apartment home;
  const std::uint32_t seed = GENERATE(range(1u, 9u));
  const float temperature = GENERATE(0.0f, 0.7f, 2.0f);
  const SessionOptions o = few_words(seed, temperature, 2 + seed);
  const auto with = home.open({user(kLong)}, o), without = home.open({user(kLong)}, undrafted(o));
  for (bool more = true; more;) {
    const auto token = must(without->next());
    REQUIRE(must(with->next()) == token);
    REQUIRE(apart(*with, *without) <= kRounding);
    REQUIRE(with->position() == without->position());
    REQUIRE(with->text() == without->text());
    more = token.has_value();
  }
  CHECK(without->stats().drafted_tokens == 0);
  CHECK(with->stats().drafted_tokens > 0);
  CHECK(with->stats().right_drafts <= with->stats().drafted_tokens);
  CHECK(with->stats().generated_tokens == without->stats().generated_tokens);
}

TEST_CASE("drafts are right and wrong here, or these tests see half of it") {
  Apartment home;
  std::uint64_t n_drafted = 0, n_right = 0;
  for (std::uint32_t seed = 1; seed < 17; ++seed) {
    const auto session = home.open({user(kLong)}, few_words(seed, 2.0f, 2 + seed));
    rest_of(*session);
    n_drafted += session->stats().drafted_tokens;
    n_right += session->stats().right_drafts;
  }
  CHECK(n_right > 50);
  CHECK(n_drafted > n_right + 50);
}

// The same is done to both, at the same tokens.
void do_one_thing(std::unique_ptr<Session>* session, std::uint32_t what, Position begin) {
  Session& s = **session;
  if (what == 0) *session = must(s.fork());
  if (what == 1) must(s.keep());
  if (what == 2) must(s.rewind(begin + (s.position() - begin) / 2));
  if (what == 3) must(s.append_text(" The ferry."));
  if (what == 4) {
    s.cancel();
    REQUIRE_FALSE(s.next().ok());
  }
}

TEST_CASE("whatever is done to a session between two tokens, its drafts do not show") {
  Apartment home;
  const std::uint32_t seed = GENERATE(range(1u, 17u));
  const SessionOptions o = few_words(seed, 1.5f, 4);
  auto with = home.open({user(kLong)}, o), without = home.open({user(kLong)}, undrafted(o));
  std::mt19937 random(seed);
  must(with->prefill());
  must(without->prefill());
  Position begin = with->position();
  for (int deed = 0; deed < 12; ++deed) {
    for (std::uint32_t n = random() % 12; n > 0; --n) {
      const auto token = must(without->next());
      REQUIRE(must(with->next()) == token);
    }
    const std::uint32_t what = random() % 5;
    INFO("seed " << seed << ", deed " << deed << ": " << what);
    if (what == 2 && without->position() <= begin + 2) continue;
    if (what == 3 && deed > 6) continue;
    if (what == 4 && without->stats().finish != Finish::kNone) continue;
    do_one_thing(&with, what, begin);
    do_one_thing(&without, what, begin);
    if (what == 3) begin = with->position();
    REQUIRE(with->position() == without->position());
  }
  CHECK(rest_of(*with) == rest_of(*without));
  must(with->keep());
  // What was kept is what the tokens say.
  home.restart();
  const auto found = home.open({user(kLong)}, undrafted(o));
  must(found->prefill());
}

TEST_CASE("sessions that go on together draft within the room of a step, and draw the same") {
  Apartment home;
  constexpr std::size_t kSessions = 5;
  std::vector<std::unique_ptr<Session>> sessions, others;
  std::vector<Session*> together;
  for (std::uint32_t i = 0; i < kSessions; ++i) {
    const SessionOptions o = few_words(i + 1, i % 2 ? 1.0f : 0.0f, 3 + i);
    sessions.push_back(home.open({user(kLong + std::to_string(i))}, o));
    others.push_back(home.open({user(kLong + std::to_string(i))}, undrafted(o)));
    together.push_back(sessions.back().get());
  }
  std::vector<Tokens> said(kSessions);
  for (std::size_t n_over = 0; n_over < kSessions;) {
    n_over = 0;
    const auto results = Session::step(together);
    for (std::size_t i = 0; i < kSessions; ++i) {
      if (!results[i]) continue;
      const auto& token = must(*results[i]);
      if (token) said[i].push_back(*token);
      n_over += !token;
    }
  }
  std::uint64_t n_right = 0;
  for (std::size_t i = 0; i < kSessions; ++i) {
    CHECK(said[i] == rest_of(*others[i]));
    n_right += sessions[i]->stats().right_drafts;
  }
  CHECK(n_right > 20);
}

TEST_CASE("an answer that ends behind drafts is kept, and gone on from, as one without") {
  Apartment home;
  const std::uint32_t n_tokens = GENERATE(range(20u, 44u));
  SessionOptions o = few_words(1, 0.0f, 1);  // one word, for ever: each draft is right
  o.max_tokens = n_tokens;
  const auto with = home.open({user(kLong)}, o), without = home.open({user(kLong)}, undrafted(o));
  CHECK(rest_of(*with) == rest_of(*without));
  CHECK(with->stats().right_drafts > 0);
  const std::vector<pml::ChatTurn> next = {{pml::Role::kUser, "And of Rome?"}};
  for (Session* const session : {with.get(), without.get()}) {
    must(session->keep());
    must(session->append(next));
  }
  CHECK(with->position() == without->position());
  CHECK(apart(*with, *without) <= kRounding);
  CHECK(rest_of(*with) == rest_of(*without));
}

TEST_CASE("whoever knows better and throws is not asked for his answer") {
  Apartment home;
  const SessionOptions o = few_words(3, 1.0f, 5);
  SessionOptions told = o;
  int n_asked = 0;
  told.draft = [&](Tokens*, std::size_t) {
    if (++n_asked % 2) throw std::bad_alloc();
  };
  const auto session = home.open({user(kLong)}, told);
  CHECK(rest_of(*session) == rest_of(*home.open({user(kLong)}, undrafted(o))));
  CHECK(n_asked > 20);
}

TEST_CASE("what somebody says is tried first, right or wrong or no token at all") {
  Apartment home;
  const SessionOptions o = few_words(3, 1.0f, 5);
  const Tokens said = rest_of(*home.open({user(kLong)}, undrafted(o)));
  SessionOptions told = o;
  std::size_t n_said = 0;
  int what = 0;
  told.draft = [&](Tokens* next, std::size_t most) {
    next->assign(said.begin() + static_cast<std::ptrdiff_t>(n_said), said.end());
    next->resize(std::min(next->size(), most));
    if (++what % 3 == 1 && !next->empty()) next->back() = what % 2 ? -5 : 1'000'000;
    if (what % 3 == 2) next->assign(most + 7, 301);
  };
  const auto session = home.open({user(kLong)}, told);
  Tokens tokens;
  while (const auto token = must(session->next())) {
    tokens.push_back(*token);
    n_said = tokens.size();
  }
  CHECK(tokens == said);
  CHECK(session->stats().right_drafts > said.size() / 3);
  CHECK(session->stats().drafted_tokens > session->stats().right_drafts);
}

TEST_CASE("a draft ends where the window, the answer or a turn does") {
  Apartment home;
  home.context_tokens = 260;
  home.restart();
  SessionOptions o = few_words(1, 0.0f, 1);  // one word, for ever
  o.max_tokens = 1000;
  o.cut_to_window = true;
  const auto session = home.open({user(kLong)}, o);
  const Tokens said = rest_of(*session);
  CHECK(session->stats().finish == Finish::kLength);
  CHECK(session->stats().right_drafts == session->stats().drafted_tokens);
  CHECK(said.size() + static_cast<std::size_t>(home.prompt->plan.end) == 260);
  CHECK(session->stats().right_drafts > said.size() / 2);
}

}  // namespace
}  // namespace pc::test
