// Conversations that are longer than their window, where it may slide.

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "tests/runtime/engine/apartment.h"

namespace pc::test {
namespace {

constexpr std::uint32_t kWindow = 256;

struct Home : Apartment {
  explicit Home(KvType type = KvType::kF32) : Apartment(type) {
    context_tokens = kWindow;
    restart();
  }
};

SessionOptions sliding(std::uint32_t max_tokens) {
  SessionOptions o;
  o.max_tokens = max_tokens;
  o.overflow = Overflow::kSlide;
  // Words alone: a tiny model would end its turns at random.
  o.mask = [](std::span<std::uint32_t> allowed, const DrawPlace&) {
    std::ranges::fill(allowed, 0u);
    for (std::uint32_t word = 10; word < 20; ++word) allowed[word] = ~0u;
    return true;
  };
  return o;
}

std::size_t answer(Session& session) {
  std::size_t n = 0;
  while (must(session.next())) ++n;
  return n;
}

void append(Session& session, const std::string& text) {
  const std::vector<pml::ChatTurn> turns = {{pml::Role::kUser, text}};
  must(session.append(turns));
}

TEST_CASE("a conversation of a hundred windows goes on, and what went is counted") {
  Home home;
  const auto session = home.open({user("Where does the ferry go?")}, sliding(24));
  must(session->prefill());
  std::uint64_t n_read = session->stats().prompt_tokens, dropped = 0, turns = 0, n_slides = 0;
  for (std::uint32_t turn = 0; n_read + session->position() < 100 * kWindow; ++turn) {
    REQUIRE(answer(*session) == 24);
    append(*session, "And of number " + std::to_string(turn) + ", what is known?");
    const SessionStats& stats = session->stats();
    n_read += stats.computed_tokens;
    REQUIRE(static_cast<std::uint32_t>(session->position()) + 1 <= kWindow);
    // Whole turns go, a question and its answer at a time.
    REQUIRE(stats.dropped_turns % 2 == 0);
    if (stats.dropped_turns != turns) ++n_slides;
    REQUIRE((stats.dropped_tokens > dropped) == (stats.dropped_turns > turns));
    REQUIRE(stats.prompt_tokens == static_cast<std::uint64_t>(session->position()));
    dropped = stats.dropped_tokens;
    turns = stats.dropped_turns;
  }
  CHECK(n_slides > 50);
  // A slide makes room for several turns, and computes none of what stays.
  CHECK(n_slides < turns / 2);
}

TEST_CASE("until the window slides, a conversation is what it is without") {
  Home home;
  SessionOptions stops = sliding(24);
  stops.overflow = Overflow::kStop;
  const auto slides = home.open({user(kLong)}, sliding(24)), ends = home.open({user(kLong)}, stops);
  for (int turn = 0;; ++turn) {
    while (const auto token = must(ends->next())) REQUIRE(must(slides->next()) == token);
    REQUIRE_FALSE(must(slides->next()));
    const std::vector<pml::ChatTurn> turns = {{pml::Role::kUser, "And then?"}};
    must(slides->append(turns));
    const Status appended = ends->append(turns);
    if (appended.ok()) {
      REQUIRE(slides->stats().dropped_tokens == 0);
      continue;
    }
    REQUIRE(appended.error().code == Code::kContextFull);
    CHECK(turn > 2);
    CHECK(answer(*slides) == 24);
    break;
  }
}

TEST_CASE("an answer that is longer than the window loses its own beginning last") {
  Home home(GENERATE(KvType::kF32, KvType::kQ8));
  const auto session = home.open({user(kLong)}, sliding(40));
  answer(*session);
  append(*session, "Tell me all of it.");
  while (session->stats().dropped_turns == 0) {
    answer(*session);
    append(*session, "And more.");
  }
  SessionOptions o = sliding(1000);
  const auto endless = home.open({user(kLong)}, o);
  REQUIRE(answer(*endless) == 1000);
  CHECK(static_cast<std::uint32_t>(endless->position()) <= kWindow);
  CHECK(endless->stats().dropped_tokens > 1000 - kWindow);
  // There is no way back to what went.
  CHECK(endless->rewind(endless->position() - 3).error().code == Code::kInvalidArgument);
  append(*endless, "And then?");
  CHECK(answer(*endless) == 1000);
  CHECK(endless->position() > 0);
}

TEST_CASE("a slid conversation is forked, cancelled, and gone back in as any other") {
  Home home;
  const auto session = home.open({user(kLong)}, sliding(24));
  answer(*session);
  while (session->stats().dropped_turns == 0) {
    append(*session, "And of the others?");
    answer(*session);
  }
  const auto fork = must(session->fork());
  const Position begin = session->position() - 12;
  must(session->rewind(begin));
  must(fork->rewind(begin));
  REQUIRE(session->position() == begin);
  while (const auto token = must(session->next())) REQUIRE(must(fork->next()) == token);
  CHECK(session->stats().dropped_turns == fork->stats().dropped_turns);
  session->cancel();
  const std::string twice = kLong + kLong;
  const std::vector<pml::ChatTurn> turns = {{pml::Role::kUser, twice}};
  const Position before = session->position();
  const Status stopped = session->append(turns);
  INFO(stopped.error().message);
  REQUIRE(stopped.error().code == Code::kCancelled);
  CHECK(session->position() == before);
  must(session->append(turns));
  must(fork->append(turns));
  CHECK(session->position() == fork->position());
  while (const auto token = must(session->next())) REQUIRE(must(fork->next()) == token);
  // None of what follows a slide is kept, since nobody would find it.
  const std::size_t n_files = home.n_files();
  must(session->keep());
  CHECK(home.n_files() == n_files);
}

TEST_CASE("a turn that brings a module goes with it, and the prompt's modules stay") {
  // A token of its own stands between an answer and its opening.
  Home home;
  home.use_template(
      "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}U: {{ m.content }}"
      "{{ eos_token }}{% elif m.role == 'assistant' %}A:{{ bos_token }}{{ m.content }}"
      "{{ eos_token }}{% endif %}{% endfor %}"
      "{% if add_generation_prompt %}A:{{ bos_token }}{% endif %}");
  std::string schema = "<schema name='s'><module name='doc'>The tram of Oslo costs four.</module>";
  constexpr int kModules = 40;
  for (int i = 0; i < kModules; ++i)
    schema += "<module name='m" + std::to_string(i) + "'>Bus " + std::to_string(i) +
              " of Rome is late.</module>";
  home.use_schema(schema + "</schema>");
  const Tokens words = must(home.schema->engine().tokenizer().encode("It is late."));
  SessionOptions o = sliding(static_cast<std::uint32_t>(words.size()));
  o.mask = [&words, n = std::size_t{0}](std::span<std::uint32_t> allowed,
                                        const DrawPlace&) mutable {
    std::ranges::fill(allowed, 0u);
    const auto word = static_cast<std::size_t>(words[n++ % words.size()]);
    allowed[word / 32] |= 1u << word % 32;
    return true;
  };
  o.max_draft = 0;
  const auto session = home.open({{pml::Role::kUser, "What does the tram cost?", "doc"}}, o);
  must(session->prefill());
  const std::uint64_t n_module = session->stats().cached_tokens;
  REQUIRE(n_module > 5);
  answer(*session);
  for (int turn = 0; turn < kModules; ++turn) {
    const std::string name = turn % 3 == 0 ? "<m" + std::to_string(turn) + "/>" : "";
    must(session->append_pml("<prompt schema='s'><user>" + name + "And back?</user></prompt>"));
    const SessionStats& stats = session->stats();
    REQUIRE(stats.prompt_tokens == static_cast<std::uint64_t>(session->position()));
    REQUIRE(stats.cached_tokens >= n_module);
    answer(*session);
  }
  CHECK(session->stats().dropped_turns > kModules);
}

TEST_CASE("a text without turns slides behind its first tokens") {
  Home home;
  home.prompt = must(LoadedPrompt::of_raw_text(home.schema, kLong, {}));
  const auto session = must(Session::open(home.prompt, sliding(0)));
  std::mt19937 random(3);
  std::uint64_t n = static_cast<std::uint64_t>(session->position());
  for (int i = 0; i < 100; ++i) {
    Tokens tokens;
    for (std::uint32_t k = 1 + random() % 60; k > 0; --k)
      tokens.push_back(static_cast<TokenId>(300 + random() % 300));
    n += tokens.size();
    must(session->append_tokens(tokens));
    REQUIRE(static_cast<std::uint64_t>(session->position()) + session->stats().dropped_tokens == n);
    REQUIRE(static_cast<std::uint32_t>(session->position()) <= kWindow);
  }
  CHECK(n > 10 * kWindow);
}

TEST_CASE("an answer ends where nothing may go for it, and the session goes on") {
  Home home;
  std::string question = kLong + kLong;
  while (static_cast<std::uint32_t>(home.open({user(question)}, sliding(0))->position()) + 30 <
         kWindow)
    question += " So.";
  const auto session = home.open({user(question)}, sliding(200));
  const std::uint64_t n_prompt = static_cast<std::uint64_t>(session->position());
  const std::size_t n = answer(*session);
  CHECK(session->stats().finish == Finish::kLength);
  CHECK(n_prompt + n == kWindow + 1);  // the token drawn last is not read
  must(session->keep());
  // The question goes, and so does its answer; its first token begins in its opening ("U: The").
  append(*session, "The tram?");
  CHECK(session->stats().dropped_turns == 2);
  // Nothing is left that has seen it: what is read is what another conversation begins with.
  const auto fresh = home.open({user("The tram?")}, sliding(200));
  must(fresh->prefill());
  REQUIRE(session->position() == fresh->position());
  for (std::size_t i = 0; i < fresh->logits().size(); ++i)
    REQUIRE(std::fabs(session->logits()[i] - fresh->logits()[i]) <= 1e-4f);
  CHECK(answer(*session) == 200);
}

TEST_CASE("an answer without a limit takes memory as it grows") {
  Home home;
  const auto session = home.open({user(kLong)}, sliding(UINT32_MAX));
  for (int i = 0; i < 600; ++i) REQUIRE(must(session->next()));
  CHECK(session->stats().dropped_tokens > 300);
}

TEST_CASE("what does not fit the window alone is refused, and nothing has changed") {
  Home home;
  const auto session = home.open({user(kLong)}, sliding(8));
  answer(*session);
  const Position before = session->position();
  const std::string much = kLong + kLong + kLong + kLong + kLong + kLong;
  const std::vector<pml::ChatTurn> turns = {{pml::Role::kUser, much}};
  REQUIRE(session->append(turns).error().code == Code::kContextFull);
  CHECK(session->position() == before);
  append(*session, "Shorter.");
  CHECK(answer(*session) == 8);
}

}  // namespace
}  // namespace pc::test
