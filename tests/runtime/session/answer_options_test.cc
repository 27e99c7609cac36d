// Each answer of a conversation may be drawn in its own way, as if the conversation had been opened
// so.

#include <catch2/catch.hpp>
#include <limits>
#include <string>

#include "tests/runtime/engine/apartment.h"
#include "tests/support/tiny_chat.h"

namespace pc::test {
namespace {

SessionOptions most(std::uint32_t max_tokens) {
  SessionOptions o;
  o.max_tokens = max_tokens;
  return o;
}

// What penalties change, and which tokens were said.
SessionOptions penalised(std::uint32_t max_tokens) {
  SessionOptions o = most(max_tokens);
  o.sampler.repetition_penalty = 1.8f;
  o.sampler.presence_penalty = 0.4f;
  return o;
}

Tokens answer(Session& session) {
  Tokens tokens;
  while (const auto token = must(session.next())) tokens.push_back(*token);
  return tokens;
}

void append(Session& session, const std::string& text) {
  const std::vector<pml::ChatTurn> turns = {{pml::Role::kUser, text}};
  must(session.append(turns));
}

// Answers the first question with this text.
std::unique_ptr<Session> told(Apartment& home, const Turns& turns, const std::string& text) {
  const auto encoded = must(home.schema->engine().text_encoder().encode(
      std::vector<pml::TextSpan>{{text, false}}, false));
  SessionOptions o = most(static_cast<std::uint32_t>(encoded.front().size()));
  o.mask = only(encoded.front());
  auto session = home.open(turns, o);
  REQUIRE(answer(*session) == encoded.front());
  return session;
}

TEST_CASE("the next answer is drawn as if the conversation had been opened so") {
  Apartment home;
  const bool has_module = GENERATE(false, true);
  const Turns turns = {{pml::Role::kUser, "What does it cost?", has_module ? "doc" : ""}};
  const auto session = told(home, turns, "Four euros.");
  must(session->set_answer(penalised(20)));
  CHECK(session->stats().generated_tokens > 0);  // it is the next one's
  append(*session, "And by night?");
  const Tokens got = answer(*session);
  Turns all = turns;
  all.push_back(said("Four euros."));
  all.push_back(user("And by night?"));
  CHECK(got == answer(*home.open(all, penalised(20))));
  CHECK(got != answer(*home.open(all, most(20))));  // the penalties do something
  // It stays so for those that follow.
  append(*session, "And by day?");
  CHECK(answer(*session).size() <= 20);
}

TEST_CASE("what nothing is drawn of yet is drawn so at once") {
  Apartment home;
  const Turns turns = {user("What does it cost?")};
  const Tokens want = answer(*home.open(turns, penalised(9)));
  const bool is_read = GENERATE(false, true);
  const auto session = home.open(turns, most(40));
  if (is_read) must(session->prefill());
  must(session->set_answer(most(2)));
  must(session->set_answer(penalised(9)));  // the last says it
  CHECK(answer(*session) == want);
}

TEST_CASE("an answer that nothing was to be drawn of goes on as it is asked for then") {
  Apartment home;
  const Turns turns = {user("What does it cost?")};
  const Tokens want = answer(*home.open(turns, penalised(9)));
  REQUIRE(!want.empty());
  const bool is_over = GENERATE(false, true);
  const auto session = home.open(turns, most(0));
  must(session->prefill());
  if (is_over) {
    REQUIRE_FALSE(must(session->next()));
    REQUIRE(session->stats().finish == Finish::kLength);
  }
  const auto fork = must(session->fork());
  for (Session* s : {session.get(), fork.get()}) {
    must(s->set_answer(penalised(9)));
    CHECK(s->stats().finish == Finish::kNone);
    CHECK(answer(*s) == want);
    CHECK(s->stats().generated_tokens == want.size());
  }
  // One of a later turn does, too.
  must(session->set_answer(most(0)));
  append(*session, "And by night?");
  REQUIRE_FALSE(must(session->next()));
  must(session->set_answer(most(5)));
  CHECK(must(session->next()));
}

TEST_CASE("an answer whose first draw ended it is over, whatever is asked for then") {
  Apartment home;
  const auto session = home.open({user("What does it cost?")}, [&] {
    SessionOptions o = most(5);
    o.mask = only({*home.schema->engine().tokenizer().eos()});
    return o;
  }());
  REQUIRE_FALSE(must(session->next()));
  REQUIRE(session->stats().finish == Finish::kEos);
  must(session->set_answer(most(5)));
  CHECK_FALSE(must(session->next()));
  CHECK(session->stats().finish == Finish::kEos);
}

TEST_CASE("an answer at hand is drawn to its end as it began, and a fork's as well") {
  Apartment home;
  const Turns turns = {user("What does it cost?")};
  const Tokens want = answer(*home.open(turns, most(12)));
  const auto session = home.open(turns, most(12));
  REQUIRE(must(session->next()) == want[0]);
  must(session->set_answer(most(3)));
  const auto fork = must(session->fork());
  for (Session* s : {session.get(), fork.get()}) {
    CHECK(answer(*s) == Tokens(want.begin() + 1, want.end()));
    append(*s, "And by night?");
    CHECK(answer(*s).size() <= 3);
  }
}

TEST_CASE("what is drawn again from an earlier token on may be drawn otherwise") {
  Apartment home;
  const auto session = home.open({user("What does it cost?")}, most(12));
  const Position begin = session->position();
  const Tokens first = answer(*session);
  REQUIRE(first.size() > 4);
  SessionOptions without = most(6);
  without.sampler.bias = {{first[2], -std::numeric_limits<float>::infinity()}};
  must(session->set_answer(without));
  must(session->rewind(begin + 2));
  const Tokens again = answer(*session);
  REQUIRE(!again.empty());
  CHECK(again[0] != first[2]);
  CHECK(again.size() <= 4);  // two of six are there
}

TEST_CASE("what is drawn again is refused where its new limit does not fit the window") {
  Apartment home;
  home.context_tokens = 256;
  home.restart();
  const auto session = home.open({user("What does it cost?")}, most(12));
  const Position begin = session->position();
  const Tokens first = answer(*session);
  REQUIRE(first.size() > 4);
  append(*session, "And by night?");
  const Position second = session->position();
  REQUIRE(must(session->next()));
  must(session->set_answer(most(300)));
  for (const Position at : {begin, begin + 2, second}) {
    const Status refused = session->rewind(at);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == Code::kContextFull);
    CHECK(refused.error().message.find("its answer may take 300 tokens") != std::string::npos);
  }
  CHECK(session->position() == second);
  // What fits from the first answer's beginning may not from the second's.
  const auto room = 256 - static_cast<std::uint32_t>(begin);
  must(session->set_answer(most(room)));
  CHECK(session->rewind(second).error().code == Code::kContextFull);
  must(session->rewind(begin + 2));
  CHECK(answer(*session).size() <= room - 2);
  SessionOptions cut = most(300);
  cut.cut_to_window = true;
  must(session->set_answer(cut));
  must(session->rewind(begin));
  CHECK(answer(*session).size() <= room);
}

// Rewinds to `at`, which is refused with these words, and leaves the session as it is.
void refused(Session& session, Position at, const std::string& words) {
  const Position position = session.position();
  const Status done = session.rewind(at);
  REQUIRE_FALSE(done.ok());
  INFO(done.error().message);
  CHECK(done.error().code == Code::kInvalidArgument);
  CHECK(done.error().message.find(words) != std::string::npos);
  CHECK(session.position() == position);
}

TEST_CASE("what is kept of an answer fits its new limit, or going back there is refused") {
  Apartment home;
  const auto session = home.open({user("What does it cost?")}, most(12));
  const Position begin = session->position();
  const Tokens first = answer(*session);
  REQUIRE(first.size() > 6);
  must(session->set_answer(most(3)));
  refused(*session, begin + 5, "the answer keeps 5 tokens, and max_tokens is 3");
  must(session->rewind(begin + 3));
  CHECK_FALSE(must(session->next()));
  CHECK(session->stats().finish == Finish::kLength);
  must(session->rewind(begin + 2));
  CHECK(answer(*session).size() <= 1);
}

TEST_CASE("what is kept of an answer has none of its new stop strings") {
  Apartment home;
  const auto session = told(home, {user("What does it cost?")}, "Four euros, not more.");
  const Position end = session->position();
  SessionOptions o = most(40);
  o.stop = {"never", "euros"};
  must(session->set_answer(o));
  refused(*session, end, "the stop string 'euros' is complete with token ");
  // Behind a part of one, what follows may complete it.
  Position at = end;
  while (!session->rewind(at).ok()) --at;
  const auto encoded = must(home.schema->engine().text_encoder().encode(
      std::vector<pml::TextSpan>{{"Four euros, not more.", false}}, false));
  const std::size_t kept = encoded.front().size() - static_cast<std::size_t>(end + 1 - at);
  o.mask =
      only({encoded.front().begin() + static_cast<std::ptrdiff_t>(kept), encoded.front().end()});
  must(session->set_answer(o));
  must(session->rewind(at));
  while (must(session->next())) continue;
  CHECK(session->stats().finish == Finish::kStop);
  CHECK(session->stats().stop == 1);
}

TEST_CASE("stop strings of the next answer end that one") {
  Apartment home;
  const auto session = told(home, {user("What does it cost?")}, "Four euros.");
  const auto encoded = must(home.schema->engine().text_encoder().encode(
      std::vector<pml::TextSpan>{{"Five euros.", false}}, false));
  SessionOptions o = most(40);
  o.stop = {"never", "euros"};
  o.mask = only(encoded.front());
  must(session->set_answer(o));
  CHECK(session->stats().finish == Finish::kLength);
  append(*session, "And by night?");
  std::string text;
  for (bool more = true; more;) {
    more = must(session->next()).has_value();
    text += session->text();
  }
  CHECK(text == "Five ");
  CHECK(session->stats().finish == Finish::kStop);
  CHECK(session->stats().stop == 1);
}

TEST_CASE("options that cannot be are refused, and the session is as it was") {
  Apartment home;
  home.context_tokens = 256;
  home.restart();
  const Turns turns = {user("What does it cost?")};
  const Tokens want = answer(*home.open(turns, most(8)));
  const auto session = home.open(turns, most(8));
  SessionOptions cold = most(8);
  cold.sampler.temperature = -1.0f;
  CHECK(session->set_answer(cold).error().code == Code::kInvalidArgument);
  CHECK(session->set_answer(most(300)).error().code == Code::kContextFull);
  CHECK(answer(*session) == want);
  // What the next one has no room for, is found when it begins.
  must(session->set_answer(most(300)));
  const std::vector<pml::ChatTurn> more = {{pml::Role::kUser, "And by night?"}};
  CHECK(session->append(more).error().code == Code::kContextFull);
  must(session->set_answer(most(3)));
  must(session->append(more));
  CHECK(answer(*session).size() <= 3);
}

}  // namespace
}  // namespace pc::test
