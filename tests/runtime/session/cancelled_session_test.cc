// A session that was cancelled goes on from where it was, at whatever it was stopped: its answer,
// what is appended, gone back to and kept are those of a session that never was.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/runtime/engine/apartment.h"

namespace pc::test {
namespace {

constexpr std::uint32_t kTokens = 8;

// A prompt of some steps.
std::string long_question() {
  std::string text = "Which tram?";
  while (text.size() < 700) text += " The tram is late.";
  return text;
}

SessionOptions short_answer() {
  SessionOptions options;
  options.max_tokens = kTokens;
  return options;
}

Tokens rest_of(Session& session) {
  Tokens tokens;
  while (const auto token = must(session.next())) tokens.push_back(*token);
  return tokens;
}

template <class T>
void require_cancelled(const T& result, const Session& session) {
  REQUIRE_FALSE(result.ok());
  REQUIRE(result.error().code == Code::kCancelled);
  REQUIRE(session.stats().finish == Finish::kCancelled);
}

struct Told {
  Tokens first, next;
  std::uint64_t n_kept = 0;
};

// Both answers of a conversation of two turns, which is kept.
Told conversation(Session& session) {
  Told told;
  told.first = rest_of(session);
  const std::vector<pml::ChatTurn> turns = {{pml::Role::kUser, "And of Rome?"}};
  must(session.append(turns));
  told.next = rest_of(session);
  told.n_kept = must(session.keep());
  return told;
}

void check_same(const Told& got, const Told& want) {
  CHECK(got.first == want.first);
  CHECK(got.next == want.next);
  CHECK(got.n_kept == want.n_kept);
}

TEST_CASE("cancelled before its prompt: asked again, the session answers") {
  Apartment home;
  const Told want = conversation(*home.open({user(long_question())}, short_answer()));
  const auto session = home.open({user(long_question())}, short_answer());
  for (int i = 0; i < 2; ++i) {
    session->cancel();
    require_cancelled(session->next(), *session);
  }
  session->cancel();
  require_cancelled(session->prefill(), *session);
  CHECK(session->logits().empty());
  must(session->prefill());
  CHECK(session->stats().finish == Finish::kNone);
  check_same(conversation(*session), want);
}

TEST_CASE("cancelled amid its prompt: it begins the prompt anew") {
  Apartment home;
  const Told want = conversation(*home.open({user(long_question())}, short_answer()));
  SessionOptions options = short_answer();
  options.no_reuse = true;  // what the other one kept would leave nothing to compute
  int n_told = 0;
  options.progress = [&n_told](std::uint64_t, std::uint64_t) {
    return ++n_told != 2;  // the first word that something is done stops it
  };
  const auto session = home.open({user(long_question())}, options);
  require_cancelled(session->next(), *session);
  REQUIRE(n_told == 2);
  CHECK(session->logits().empty());
  Told got = conversation(*session);
  got.n_kept = want.n_kept;  // the other one's lie there
  check_same(got, want);
}

TEST_CASE("cancelled amid its answer, behind each token and while the next is drawn") {
  // In a store of its own: what another one kept is cut otherwise.
  const Told want = conversation(*Apartment().open({user("Which tram?")}, short_answer()));
  Apartment home;
  const bool while_drawing = GENERATE(false, true);
  CAPTURE(while_drawing);
  Session* drawn_by = nullptr;
  SessionOptions options = short_answer();
  if (while_drawing)
    options.mask = [&drawn_by](std::span<std::uint32_t>, const DrawPlace&) {
      if (drawn_by) drawn_by->cancel();
      return true;
    };
  const auto session = home.open({user("Which tram?")}, options);
  drawn_by = session.get();
  Tokens first;
  for (bool more = true; more;) {
    if (!while_drawing) session->cancel();
    auto token = session->next();
    if (!token.ok()) {
      require_cancelled(token, *session);
      token = session->next();
    }
    more = must(token).has_value();
    if (more) first.push_back(**token);
  }
  CHECK(first == want.first);
  drawn_by = nullptr;
  Told got = conversation(*session);
  got.first = first;
  check_same(got, want);
}

TEST_CASE("appending, going back and keeping that were cancelled may be done again") {
  Apartment home;
  const std::string question = long_question();  // turns view it
  const std::vector<pml::ChatTurn> turns = {{pml::Role::kUser, question}};
  const auto one = home.open({user("Which tram?")}, short_answer()),
             other = home.open({user("Which tram?")}, short_answer());
  const Tokens first = rest_of(*one);
  CHECK(rest_of(*other) == first);
  const Position end = one->position();
  must(one->append(turns));
  const Tokens next = rest_of(*one);

  const Finish finish = other->stats().finish;
  other->cancel();
  CHECK(other->append(turns).error().code == Code::kCancelled);
  CHECK(other->stats().finish == finish);  // the answer is over as it was
  CHECK(other->position() == end);
  CHECK_FALSE(must(other->next()).has_value());
  must(other->append(turns));
  CHECK(rest_of(*other) == next);

  other->cancel();
  CHECK(other->rewind(end - 2).error().code == Code::kCancelled);
  must(one->rewind(end - 2));
  must(other->rewind(end - 2));
  CHECK(other->position() == end - 2);
  CHECK(rest_of(*other) == rest_of(*one));

  other->cancel();
  const auto kept = other->keep();
  REQUIRE_FALSE(kept.ok());
  CHECK(kept.error().code == Code::kCancelled);
  CHECK(must(other->keep()) == must(one->keep()));
  CHECK_FALSE(must(other->next()).has_value());
}

TEST_CASE("what a batch began and another stopped goes on in a batch") {
  Apartment home;
  const Tokens want = rest_of(*home.open({user(long_question())}, short_answer()));
  const auto session = home.open({user(long_question())}, short_answer());
  Session* const all[] = {session.get()};
  REQUIRE_FALSE(Session::step(all)[0].has_value());  // the prompt is pending
  session->cancel();
  const auto stopped = Session::step(all);
  REQUIRE(stopped[0].has_value());
  require_cancelled(*stopped[0], *session);
  Tokens got;
  for (int i = 0; i < 100; ++i) {
    const auto step = Session::step(all);
    if (!step[0]) continue;
    const auto token = must(*step[0]);
    if (!token) break;
    got.push_back(*token);
  }
  CHECK(got == want);
}

TEST_CASE("a session that was forked while it was cancelled goes on") {
  Apartment home;
  const auto session = home.open({user("Which tram?")}, short_answer());
  must(session->next());
  session->cancel();
  require_cancelled(session->next(), *session);
  const auto fork = must(session->fork());
  CHECK(rest_of(*fork) == rest_of(*session));
}

}  // namespace
}  // namespace pc::test
