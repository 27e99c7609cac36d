// An answer by itself, drawn from logits that a test writes: nobody computes, and nothing stands
// before it.
#include "runtime/session/answer.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "runtime/constrain/grammar/constraint.h"
#include "runtime/constrain/grammar/grammar.h"
#include "tests/runtime/engine/apartment.h"
#include "tests/support/alloc_faults.h"
#include "tests/support/tiny_chat.h"

namespace pc::test {
namespace {

// What a model would compute: any logits, others at each position.
void compute(Answer* answer, Position position) {
  const std::size_t n = answer->logits().size();
  float* const logits = answer->logits_to_compute();
  for (std::size_t i = 0; i < n; ++i)
    logits[i] = static_cast<float>((i * 131 + static_cast<std::size_t>(position) * 977) % 613);
}

// A session in which answers are begun and drawn, and nothing else is.
struct Paper {
  explicit Paper(std::uint32_t context_tokens = 256) {
    home.context_tokens = context_tokens;
    home.restart();
  }

  const Engine& engine() const { return home.schema->engine(); }
  TokenId id(const std::string& text) const {
    return engine().tokenizer().token_to_id(text).value();
  }
  TokenId eos() const { return engine().tokenizer().eos().value(); }
  constrain::Constraint regex(const std::string& pattern) const {
    return must(engine().constrainer().compile(constrain::matching_text(pattern, "regex")));
  }

  Answer begin(const AnswerOptions& options, std::uint32_t max_tokens = 40) const {
    Answer answer(engine(), options);
    answer.begin(answer.room(max_tokens, nullptr));
    answer.logits_to_compute();
    return answer;
  }

  Apartment home;
};

// One more token as a session draws it; nothing: the answer is over.
std::optional<TokenId> next(Answer* answer) {
  if (answer->is_over()) return std::nullopt;
  if (answer->is_full()) return answer->end(Finish::kLength);
  if (answer->is_whole()) return answer->end(Finish::kEos);
  const auto position = static_cast<Position>(answer->tokens().size());
  compute(answer, position);
  must(answer->draw({nullptr, position}));
  const auto token = answer->take_drawn();
  answer->end_step();
  return token;
}

Tokens all_of(Answer* answer) {
  Tokens tokens;
  while (const auto token = next(answer)) tokens.push_back(*token);
  return tokens;
}

// draw() and take_drawn() while no memory is to be had.
bool draws_without_memory(Answer* answer, Position position) {
  bool drew = true;
  fail_allocation(0, AllocFault::kOnward);
  try {
    drew = answer->draw({nullptr, position}).ok();
    if (drew) answer->take_drawn();
  } catch (const std::bad_alloc&) {
    drew = false;
  }
  stop_failing();
  return drew;
}

// ---- Memory

TEST_CASE("a token is drawn, and taken, without memory") {
  const Paper paper(1024);
  constexpr std::uint32_t kTokens = 400;
  AnswerOptions o;
  o.sampler.temperature = 0.7f;
  o.sampler.presence_penalty = 0.5f;
  o.sampler.repetition_penalty = 1.1f;
  std::string stop = "the";  // held back for long
  for (int i = 0; i < 1000; ++i) stop += " the";
  o.stop = {stop};
  const TokenId the = paper.id("\xE2\x96\x81the");
  o.mask = [the](std::span<std::uint32_t> allowed, const DrawPlace&) {
    std::ranges::fill(allowed, 0u);
    constrain::set_token(allowed, static_cast<std::uint32_t>(the));
    return true;
  };
  Answer answer = paper.begin(o, kTokens), fork(paper.engine(), {});
  const auto draw_all = [](Answer* drawn, Position first) {
    for (Position position = first; position < Position{kTokens}; ++position) {
      compute(drawn, position);
      REQUIRE(draws_without_memory(drawn, position));
      drawn->end_step();
    }
  };
  compute(&answer, 0);
  REQUIRE(draws_without_memory(&answer, 0));
  answer.end_step();
  fork.continue_from(answer);
  draw_all(&answer, 1);
  draw_all(&fork, 1);
  CHECK(answer.tokens() == Tokens(kTokens, the));
  CHECK(fork.tokens() == answer.tokens());
}

TEST_CASE("an answer that continues another has its memory, and not only what that one used") {
  const Paper paper;
  AnswerOptions o;
  o.sampler.temperature = 300.0f;  // of logits up to 612
  o.sampler.min_p = 0.01f;         // what is masked is no candidate
  const TokenId a = paper.id("a");
  o.mask = [a](std::span<std::uint32_t> allowed, const DrawPlace& at) {
    if (at.position > 0) return true;
    std::ranges::fill(allowed, 0u);  // one candidate at first, and all others later
    constrain::set_token(allowed, static_cast<std::uint32_t>(a));
    return true;
  };
  Answer first = paper.begin(o), fork(paper.engine(), {});
  REQUIRE(next(&first) == a);
  fork.continue_from(first);
  compute(&fork, 1);
  CHECK(draws_without_memory(&fork, 1));
}

TEST_CASE("a draw that its constraint has no memory for draws nothing, and the next the same") {
  const Paper paper;
  AnswerOptions o;
  o.sampler.temperature = 5.0f;
  o.sampler.seed = 3;
  o.sampler.presence_penalty = 0.5f;
  o.constraint = paper.regex("([a-c]{2}-){3}[a-z]{5}");
  Answer undisturbed = paper.begin(o);
  const Tokens want = all_of(&undisturbed);
  REQUIRE(want.size() > 3);
  o.constraint = paper.regex("([a-c]{2}-){3}[a-z]{5}");  // of which no mask is known yet
  Answer answer = paper.begin(o);
  long n_thrown = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const auto position = static_cast<Position>(i);
    compute(&answer, position);
    bool drew = false;
    for (long n = 0; !drew; ++n) {
      fail_allocation(n, AllocFault::kOnce);
      try {
        drew = answer.draw({nullptr, position}).ok();
      } catch (const std::bad_alloc&) {
        ++n_thrown;
      }
      stop_failing();
      REQUIRE(answer.tokens().size() == i);
      REQUIRE((answer.unread() >= 0) == drew);
    }
    REQUIRE(answer.take_drawn() == want[i]);
    answer.end_step();
  }
  CHECK(n_thrown > 20);
}

TEST_CASE("an answer that is longer than its window makes room before it draws") {
  const Paper paper(64);
  AnswerOptions o;
  o.sampler.bias = {{paper.eos(), -std::numeric_limits<float>::infinity()}};
  Answer answer = paper.begin(o, 1000);
  for (Position position = 0; position < 300; ++position) {
    compute(&answer, position);
    if (!draws_without_memory(&answer, position)) {
      REQUIRE(answer.unread() < 0);
      must(answer.draw({nullptr, position}));
      answer.take_drawn();
    }
    answer.end_step();
    REQUIRE(answer.tokens().size() == static_cast<std::size_t>(position) + 1);
  }
}

}  // namespace
}  // namespace pc::test
