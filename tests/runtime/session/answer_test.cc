// An answer by itself, drawn from logits that a test writes: nobody computes, and nothing stands
// before it.
#include "runtime/session/answer.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <limits>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"  // is_utf8
#include "runtime/constrain/grammar/constraint.h"
#include "runtime/constrain/grammar/grammar.h"
#include "tests/runtime/engine/apartment.h"
#include "tests/support/alloc_faults.h"
#include "tests/support/tiny_chat.h"

namespace pc::test {
namespace {

constexpr auto kOwnText = pml::Begins::kOwnText;

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
    answer.begin(answer.room(max_tokens, kOwnText, nullptr));
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
  CHECK((n_thrown > 20 || !kAllocationsFail));
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

// ---- The sampler

TEST_CASE("what is said, here or before, is penalised, until it is forgotten") {
  const Paper paper;
  AnswerOptions o;
  o.sampler.repetition_penalty = 4.0f;
  Answer answer = paper.begin(o);
  const auto draws = [&](const std::vector<std::pair<TokenId, float>>& likely) {
    std::fill_n(answer.logits_to_compute(), answer.logits().size(), 0.0f);
    for (const auto& [token, logit] : likely) answer.logits_to_compute()[token] = logit;
    must(answer.draw({}));
    const auto token = answer.take_drawn();
    answer.end_step();
    return token;
  };
  const TokenId first = 400, second = 401;
  CHECK(draws({{first, 3}, {second, 2}}) == first);
  CHECK(draws({{first, 3}, {second, 2}}) == second);  // the first was said
  const TokenId both[] = {first, second};
  answer.forget(both);
  CHECK(draws({{first, 3}, {second, 2}}) == first);
  answer.forget({both, 1});
  answer.observe({both, 1});
  CHECK(draws({{first, 3}, {second, 2}}) == second);
}

TEST_CASE("an answer that begins has no tokens that count against it but those it keeps") {
  const Paper paper;
  AnswerOptions o;
  o.sampler.presence_penalty = 2.0f;
  Answer answer = paper.begin(o);
  const auto draws = [&] {
    std::fill_n(answer.logits_to_compute(), answer.logits().size(), 0.0f);
    answer.logits_to_compute()[400] = 3.0f;
    answer.logits_to_compute()[401] = 2.0f;
    must(answer.draw({}));
    const auto token = answer.take_drawn();
    answer.end_step();
    return token;
  };
  CHECK(draws() == 400);
  CHECK(draws() == 401);
  CHECK_FALSE(answer.begin(answer.room(40, kOwnText, nullptr)));
  CHECK(answer.is_untouched());
  CHECK(draws() == 400);
  const Tokens kept{400};
  CHECK_FALSE(answer.begin(must(answer.room_behind(kept, 40, kOwnText, nullptr))));
  CHECK(answer.tokens() == kept);
  CHECK(draws() == 401);
}

TEST_CASE("an answer that is drawn otherwise begins a sampler anew") {
  const Paper paper;
  AnswerOptions warm;
  warm.sampler.temperature = 3.0f;
  warm.sampler.seed = 9;
  Answer one = paper.begin({}), other = paper.begin(warm);
  REQUIRE(all_of(&one) != all_of(&other));
  CHECK(one.begin(one.room(40, kOwnText, &warm)));
  Answer again = paper.begin(warm);
  CHECK(all_of(&one) == all_of(&again));
}

TEST_CASE("an answer that continues another draws what that one draws") {
  const Paper paper;
  AnswerOptions o;
  o.sampler.temperature = 3.0f;
  o.sampler.presence_penalty = 0.3f;
  o.stop = {"never"};
  o.constraint = paper.regex("[a-z]{30}");
  Answer first = paper.begin(o), second(paper.engine(), {});
  for (int i = 0; i < 4; ++i) next(&first);
  second.continue_from(first);
  CHECK(second.tokens() == first.tokens());
  CHECK(second.whole_text() == first.whole_text());
  CHECK(all_of(&second) == all_of(&first));
  CHECK(second.stats().finish == first.stats().finish);
}

// ---- Masks and constraints

TEST_CASE("a mask is told where it is asked, and one that says no leaves all as it was") {
  const Paper paper;
  AnswerOptions o;
  o.sampler.temperature = 2.0f;
  const int owner = 0;
  bool says_yes = true;
  DrawPlace told;
  o.mask = [&](std::span<std::uint32_t> allowed, const DrawPlace& at) {
    CHECK(allowed.size() == (paper.engine().model().desc.vocab_size + 31) / 32);
    CHECK(std::ranges::count(allowed, ~std::uint32_t{0}) ==
          static_cast<std::ptrdiff_t>(allowed.size()));
    told = at;
    return says_yes;
  };
  Answer answer = paper.begin(o), undisturbed = paper.begin(o);
  compute(&undisturbed, 5);
  must(undisturbed.draw({}));
  compute(&answer, 5);
  says_yes = false;
  CHECK(answer.draw({&owner, 5}).error().code == Code::kCancelled);
  CHECK((told.owner == &owner && told.position == 5));
  CHECK(answer.unread() < 0);
  CHECK(answer.is_untouched());
  says_yes = true;
  must(answer.draw({&owner, 5}));
  CHECK(answer.unread() == undisturbed.unread());
}

TEST_CASE("neither a mask nor a constraint allows what the other forbids") {
  const Paper paper;
  const TokenId a = paper.id("a"), b = paper.id("b"), c = paper.id("c");
  const auto bit = [](TokenId token) { return std::uint32_t{1} << token % 32; };
  TokenId allowed_by_mask = b;
  std::vector<TokenId> seen;
  AnswerOptions o;
  o.constraint = paper.regex("[ab]{3}");
  o.mask = [&](std::span<std::uint32_t> allowed, const DrawPlace&) {
    for (const TokenId token : {a, b, c})
      if (allowed[static_cast<std::size_t>(token) / 32] & bit(token)) seen.push_back(token);
    std::ranges::fill(allowed, 0u);
    constrain::set_token(allowed, static_cast<std::uint32_t>(c));
    constrain::set_token(allowed, static_cast<std::uint32_t>(allowed_by_mask));
    return true;
  };
  Answer answer = paper.begin(o);
  CHECK(next(&answer) == b);
  CHECK(seen == std::vector<TokenId>{a, b});  // c is none that it may choose
  allowed_by_mask = c;
  compute(&answer, 1);
  const Status none = answer.draw({nullptr, 1});
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().code == Code::kInvalidArgument);
  CHECK(answer.tokens() == Tokens{b});
  allowed_by_mask = a;
  CHECK(next(&answer) == a);
}

TEST_CASE("an answer that its constraint has no more for ends its turn") {
  const Paper paper;
  AnswerOptions o;
  o.constraint = paper.regex("[ab]{3}");
  Answer answer = paper.begin(o);
  const Tokens tokens = all_of(&answer);
  CHECK(answer.whole_text().size() == 3);
  CHECK(answer.stats().finish == Finish::kEos);
  CHECK(answer.stats().end_token == paper.eos());
  CHECK(answer.tokens() == tokens);  // without what ended it
}

TEST_CASE("what is kept is a beginning of what its constraint allows") {
  const Paper paper;
  const TokenId a = paper.id("a"), b = paper.id("b"), c = paper.id("c");
  AnswerOptions o;
  o.constraint = paper.regex("ab(c|d)");
  const Answer answer = paper.begin({});
  CHECK(answer.room_behind(Tokens{a, b}, 9, kOwnText, &o).ok());
  CHECK(answer.room_behind(Tokens{a, b, c}, 9, kOwnText, &o).ok());
  for (const Tokens& kept : {Tokens{b}, Tokens{a, c}, Tokens{a, b, c, c}}) {
    const auto room = answer.room_behind(kept, 9, kOwnText, &o);
    REQUIRE_FALSE(room.ok());
    INFO(room.error().message);
    CHECK(room.error().code == Code::kInvalidArgument);
    CHECK(room.error().message.find("token " + std::to_string(kept.size()) + " of the ") == 0);
    CHECK(answer.room_behind(kept, 9, kOwnText, nullptr)
              .ok());  // by its own options it may be anything
  }
  Answer goes_on = paper.begin({});
  goes_on.begin(must(goes_on.room_behind(Tokens{a, b}, 9, kOwnText, &o)));
  all_of(&goes_on);
  CHECK((goes_on.whole_text() == "abc" || goes_on.whole_text() == "abd"));
}

// ---- Text, stops and the end

// A mask that draws the tokens of this text.
AnswerOptions saying(const Paper& paper, const std::string& text) {
  AnswerOptions o;
  o.mask = only(must(paper.engine().tokenize(text, {.opens = false})));
  return o;
}

std::string text_of(Answer* answer) {
  std::string text;
  for (bool more = true; more;) {
    more = next(answer).has_value();
    text += answer->text();
    answer->no_text();
    CHECK(answer->text().empty());
    if (answer->stats().finish == Finish::kStop) more = false;
  }
  return text;
}

TEST_CASE("text is given once it is certain, and whole_text() is all of it") {
  const Paper paper;
  const std::string said = "Fjord \xC3\xA6\xC3\xB8\xE2\x82\xAC \xF0\x9F\x9A\x8B.";
  AnswerOptions o = saying(paper, said);
  const auto n = must(paper.engine().tokenize(said, {.opens = false})).size();
  Answer answer = paper.begin(o, static_cast<std::uint32_t>(n));
  std::string text;
  while (next(&answer)) {
    text += answer.text();
    CHECK(is_utf8(text));
    CHECK(answer.whole_text().starts_with(text));
  }
  text += answer.text();
  CHECK(text == answer.whole_text());
  CHECK(text.ends_with(said.substr(1)));
  CHECK(answer.stats().finish == Finish::kLength);
  CHECK(answer.stats().generated_tokens == n);
}

TEST_CASE("a stop string ends an answer, and what might become one is held back") {
  const Paper paper;
  AnswerOptions o = saying(paper, "one two three four");
  o.stop = {"three five", "three"};
  Answer answer = paper.begin(o);
  const std::string text = text_of(&answer);
  CHECK(text.ends_with("one two "));
  CHECK(answer.stats().finish == Finish::kStop);
  CHECK(answer.stats().stop == 1);
  CHECK(answer.whole_text() == text);
  CHECK(answer.is_over());
}

TEST_CASE("an answer is full with as many tokens as it was begun for, and may end before") {
  const Paper paper;
  Answer answer = paper.begin(saying(paper, "one two three four"), 3);
  CHECK(answer.n_left() == 3);
  CHECK(all_of(&answer).size() == 3);
  CHECK(answer.stats().finish == Finish::kLength);
  CHECK(answer.n_left() == 0);
  CHECK_FALSE(answer.is_untouched());
  Answer cut = paper.begin(saying(paper, "one two three four"), 30);
  next(&cut);
  cut.end_at_once();
  CHECK(cut.is_full());
  CHECK_FALSE(next(&cut));
  CHECK(cut.stats().finish == Finish::kLength);
}

TEST_CASE("what nothing is drawn of is untouched: cancelled, or not to be drawn, and not ended") {
  const Paper paper;
  Answer none = paper.begin({}, 0);
  CHECK_FALSE(next(&none));
  CHECK(none.stats().finish == Finish::kLength);
  CHECK(none.is_untouched());
  Answer cancelled = paper.begin({});
  cancelled.cancel();
  CHECK(cancelled.is_over());
  CHECK(cancelled.is_untouched());
  cancelled.go_on();
  CHECK_FALSE(cancelled.is_over());
  AnswerOptions ends;
  ends.mask = only({paper.eos()});
  Answer ended = paper.begin(ends);
  CHECK_FALSE(next(&ended));
  CHECK(ended.tokens().empty());
  CHECK(ended.stats().end_token == paper.eos());
  CHECK_FALSE(ended.is_untouched());
  ended.cancel();  // over is over
  CHECK(ended.stats().finish == Finish::kEos);
}

TEST_CASE("what is kept is not more than it may have, and no whole stop string") {
  const Paper paper;
  const Tokens kept = must(paper.engine().tokenize("one two three", {.opens = false}));
  REQUIRE(kept.size() > 2);
  const auto n = static_cast<std::uint32_t>(kept.size());
  AnswerOptions o;
  const Answer answer = paper.begin({});
  CHECK(answer.room_behind(kept, n, kOwnText, &o).ok());
  const auto longer = answer.room_behind(kept, n - 1, kOwnText, &o);
  REQUIRE_FALSE(longer.ok());
  CHECK(longer.error().code == Code::kInvalidArgument);
  CHECK(longer.error().message.find("max_tokens is " + std::to_string(n - 1)) != std::string::npos);
  o.stop = {"never", "two"};
  const auto stopped = answer.room_behind(kept, n, kOwnText, &o);
  REQUIRE_FALSE(stopped.ok());
  CHECK(stopped.error().code == Code::kInvalidArgument);
  CHECK(stopped.error().message.find("the stop string 'two' is complete") == 0);
  o.stop = {"three four"};  // that may still become one
  CHECK(answer.room_behind(kept, n, kOwnText, &o).ok());
}

}  // namespace
}  // namespace pc::test
