// A drafter by itself: what it proposes behind a conversation that nobody computes, and what
// becomes of rows that a test writes in a model's place.
#include "runtime/session/drafter.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "tests/runtime/engine/apartment.h"

namespace pc::test {
namespace {

constexpr std::size_t kLookup = 64;  // tokens that an answer may have here

Tokens counted(TokenId first, std::size_t n) {
  Tokens tokens(n);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

// A conversation that was read up to some tokens, and the drafter of its answer.
struct Talk {
  explicit Talk(const Tokens& read) : conversation(prompt_of(home)) {
    conversation.read_prompt(conversation.prompt()->chain(false), 0, 0);
    for (const TokenId token : read) {
      conversation.begin_token(token);
      conversation.end_token();
    }
  }
  static std::shared_ptr<const LoadedPrompt> prompt_of(Apartment& home) {
    const std::vector<pml::Message> messages = {{pml::Role::kUser, {{"Where to?", "", {}}}}};
    return must(LoadedPrompt::of_messages(home.schema, messages));
  }

  // Of a token that was drawn; those that may follow it.
  Tokens draft(TokenId drawn, const Drafter::Room& room) {
    conversation.begin_token(drawn);
    const std::span<const TokenId> step = drafter.draft(conversation, drawn, room);
    if (step.empty()) return {};
    CHECK(step.front() == drawn);
    CHECK(step.size() == drafter.n_drafted() + 1);
    return {step.begin() + 1, step.end()};
  }
  Tokens look_up(TokenId drawn, std::size_t most = 15, bool is_alone = true) {
    return draft(drawn, {most, is_alone, kLookup, {}});
  }
  Tokens told(TokenId drawn, const Tokens& next, std::size_t most = 15, bool is_alone = true) {
    const auto tell = [&](Tokens* to, std::size_t n) {
      CHECK(n == most);
      *to = next;
    };
    return draft(drawn, {most, is_alone, kLookup, tell});
  }
  // The step is over: row i of its tokens is all i. Gives what the next token is drawn from.
  float compute() {
    const std::size_t vocab_size = conversation.engine().model().desc.vocab_size;
    for (std::size_t i = 0; i <= drafter.n_drafted(); ++i) {
      const std::vector<float> row(vocab_size, static_cast<float>(i));
      drafter.rows()->take(i, row.data());
    }
    conversation.end_token();
    logits.resize(vocab_size);
    drafter.computed(&logits);
    return logits.front();
  }
  // The next that is ahead is drawn, as a session takes it.
  float take(TokenId drawn) {
    conversation.begin_token(drawn);
    conversation.end_token();
    drafter.take_next(conversation, drawn, kLookup, &logits);
    return logits.front();
  }

  Apartment home;
  Conversation conversation;
  Drafter drafter;
  std::vector<float> logits;
};

TEST_CASE("where the conversation repeats itself, what followed there is drafted") {
  Talk talk(counted(300, 30));
  CHECK(talk.look_up(300).empty());  // one token agrees by chance
  talk.conversation.end_token();
  CHECK(talk.look_up(301).empty());
  talk.conversation.end_token();
  const Tokens next = talk.look_up(302);
  REQUIRE(!next.empty());
  CHECK(next == counted(303, next.size()));
}

TEST_CASE("the longer it agrees, the more is drafted, and never more than there is room for") {
  Tokens read = counted(300, 40);
  const Tokens again = counted(300, 12);
  read.insert(read.end(), again.begin(), again.end());
  Talk talk(read);
  const std::size_t most = GENERATE(1u, 3u, 15u);
  const Tokens next = talk.look_up(312, most);
  CHECK(next.size() <= most);
  CHECK(next.size() >= std::min<std::size_t>(most, 3));
  CHECK(next == counted(313, next.size()));
}

TEST_CASE("what somebody knows comes before what is looked up, as far as there is room") {
  Tokens read = counted(300, 30);
  read.insert(read.end(), {300, 301});
  Talk talk(read);
  CHECK(talk.told(302, {500, 501, 502}, 2) == Tokens{500, 501});
  talk.compute();
  talk.drafter.learn();
  talk.drafter.drop();
  const Tokens next = talk.told(303, {});  // who knows nothing leaves it to the conversation
  CHECK(!next.empty());
  CHECK(next == counted(304, next.size()));
}

TEST_CASE("a draft ends before what cannot follow") {
  Talk talk({});
  const TokenId eos = *talk.home.schema->engine().tokenizer().eos();
  const TokenId bad = GENERATE_COPY(TokenId{eos}, TokenId{-1}, TokenId{700});
  CHECK(talk.told(300, {400, bad, 401}) == Tokens{400});
  talk.compute();
  talk.drafter.drop();
  CHECK(talk.told(301, {bad, 401}).empty());
}

TEST_CASE("nothing is drafted without room, or where who should know throws") {
  Talk talk(counted(300, 30));
  talk.conversation.begin_token(300);
  const auto throws = [](Tokens*, std::size_t) { throw std::runtime_error("no"); };
  CHECK(talk.drafter.draft(talk.conversation, 300, {15, true, kLookup, throws}).empty());
  CHECK(talk.drafter.n_drafted() == 0);
  talk.conversation.end_token();
  CHECK(talk.told(301, {400}, 0).empty());
  talk.conversation.end_token();
  // What was looked up is built again, and lacks nothing.
  const Tokens next = talk.look_up(302);
  CHECK(!next.empty());
  CHECK(next == counted(303, next.size()));
}

TEST_CASE("beside others a guess is left, and what is known is not") {
  Tokens read = counted(300, 30);
  read.insert(read.end(), {300, 301});
  Talk talk(read);
  CHECK(talk.look_up(302, 15, false).empty());
  talk.conversation.end_token();
  CHECK(talk.told(303, {400, 401}, 15, false) == Tokens{400, 401});
}

TEST_CASE("rows of a step become logits one after the other, as their tokens are drawn") {
  Talk talk({});
  REQUIRE(talk.told(300, {400, 401, 402}) == Tokens{400, 401, 402});
  CHECK(talk.compute() == 0.0f);
  CHECK(talk.drafter.n_ahead() == 3);
  CHECK(talk.drafter.is_next(400));
  CHECK_FALSE(talk.drafter.is_next(401));
  CHECK(talk.take(400) == 1.0f);
  CHECK(talk.take(401) == 2.0f);
  CHECK(talk.drafter.n_ahead() == 1);
  CHECK(talk.drafter.is_next(402));
  // Another is drawn: what is ahead goes.
  CHECK_FALSE(talk.drafter.is_next(403));
  talk.drafter.learn();
  talk.drafter.drop();
  CHECK(talk.drafter.n_ahead() == 0);
  CHECK_FALSE(talk.drafter.is_next(402));
  CHECK(talk.told(403, {404}) == Tokens{404});
}

TEST_CASE("a step without a draft leaves the logits that were computed") {
  Talk talk({});
  REQUIRE(talk.look_up(300).empty());
  talk.logits.assign(talk.conversation.engine().model().desc.vocab_size, 7.0f);
  talk.drafter.computed(&talk.logits);
  CHECK(talk.logits.front() == 7.0f);
  CHECK(talk.drafter.n_ahead() == 0);
}

TEST_CASE("a step that failed leaves nothing ahead, and what is looked up is what was said") {
  Talk talk(counted(300, 30));
  REQUIRE(talk.told(300, {400, 401}) == Tokens{400, 401});
  talk.drafter.fail();
  talk.conversation.take_back_token();
  CHECK(talk.drafter.n_ahead() == 0);
  CHECK(talk.drafter.n_drafted() == 0);
  // 310 and what follows, and no 300 between: it was taken back.
  for (const TokenId token : {310, 311}) {
    talk.look_up(token);
    talk.conversation.end_token();
  }
  const Tokens next = talk.look_up(312);
  CHECK(!next.empty());
  CHECK(next == counted(313, next.size()));
}

TEST_CASE("drafts that are wrong become shorter, and those of a fork are as long as its parent's") {
  Talk talk({});
  const Tokens next = counted(400, 15);
  std::size_t n = talk.told(300, next).size(), n_at_first = n;
  REQUIRE(n_at_first > 4);
  for (TokenId drawn = 301; drawn < 311; ++drawn) {
    talk.compute();
    talk.drafter.learn();  // none was right
    talk.drafter.drop();
    n = talk.told(drawn, next).size();
  }
  CHECK(n < n_at_first);
  Talk fork({});
  fork.drafter.learn_from(talk.drafter);
  CHECK(fork.told(300, next).size() <= n + 1);
  CHECK(fork.drafter.n_drafted() < n_at_first);
}

}  // namespace
}  // namespace pc::test
