// Sessions that a plug-in has no memory for: the CPU computes them, says so, and answers what it
// would have.

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <functional>

#include "runtime/engine/engine.h"
#include "runtime/scheduler/log.h"
#include "runtime/schema/loaded_schema.h"
#include "runtime/session/session.h"
#include "tests/support/expect.h"
#include "tests/support/fake_options.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

// Of a schema with modules, by whoever computes it.
std::shared_ptr<const LoadedPrompt> conversation_on(std::shared_ptr<const Engine> engine) {
  const auto schema = must(LoadedSchema::parse(
      std::move(engine),
      R"(<schema name="s" repair="auto">Some text. <module name="m">A module of it.</module>
         <module name="n">Another one.</module><module name="o">The last one.</module></schema>)",
      ""));
  schema->set_verdict({pml::Repair::Kind::kLeading, 2});
  return must(LoadedPrompt::parse(
      schema, R"(<prompt schema="s"><m/><n/><user>A question?</user></prompt>)"));
}

std::vector<TokenId> talk(Session& session) {
  std::vector<TokenId> tokens;
  const auto answer = [&] {
    while (const auto token = must(session.next())) tokens.push_back(*token);
  };
  answer();
  must(session.append_pml(R"(<prompt schema="s"><user>And what of it?</user></prompt>)"));
  answer();
  return tokens;
}

TEST_CASE("what a plug-in has no memory for is computed by the CPU, and it is said") {
  const TinyCheckpoint checkpoint(3);
  SessionOptions o;
  o.max_tokens = 6;
  const auto on_cpu =
      must(Session::open(conversation_on(must(Engine::open(fake_options(checkpoint, "cpu")))), o));
  const std::vector<TokenId> want = talk(*on_cpu);
  static std::string said;
  set_log([](void*, std::int32_t, const char* message) { said += message; }, nullptr,
          LogLevel::kWarning);
  for (const char* call : {"timeline_open", "step", "resident_create", "timeline_attach"}) {
    INFO(call);
    const auto prompt =
        conversation_on(must(Engine::open(fake_options(checkpoint, PC_FAKE_BACKEND_PLAIN))));
    const auto session = must(Session::open(prompt, o)), other = must(Session::open(prompt, o));
    must(other->prefill());
    said.clear();
    ::setenv("FAKE_FAIL", call, 1);
    const Status computed = session->prefill();
    ::unsetenv("FAKE_FAIL");
    must(computed);
    CHECK(session->fell_back());
    CHECK(&session->opened_with() == &other->engine());
    CHECK(said.find("the CPU computes a request in the place of fake: the fake backend fails in " +
                    std::string(call)) != std::string::npos);
    // Both go on together, each where it is computed.
    Session* const both[] = {session.get(), other.get()};
    const auto nexts = Session::step(both);
    CHECK(must(*nexts[0]) == want[0]);
    CHECK(must(*nexts[1]).has_value());
    const auto fork = must(session->fork());
    std::vector<TokenId> got = {want[0]};
    const std::vector<TokenId> rest = talk(*fork);
    got.insert(got.end(), rest.begin(), rest.end());
    CHECK(got == want);
    CHECK(fork->fell_back());
    CHECK_FALSE(other->fell_back());
    CHECK(fork->stats().cached_tokens == on_cpu->stats().cached_tokens);
  }
  set_log(nullptr, nullptr, LogLevel::kNone);
}

TEST_CASE("sessions of a batch that a plug-in has no memory for go on with the next step") {
  const TinyCheckpoint checkpoint(3);
  SessionOptions o;
  o.max_tokens = 6;
  const auto on_cpu =
      must(Session::open(conversation_on(must(Engine::open(fake_options(checkpoint, "cpu")))), o));
  std::vector<TokenId> want;
  while (const auto token = must(on_cpu->next())) want.push_back(*token);
  const auto prompt =
      conversation_on(must(Engine::open(fake_options(checkpoint, PC_FAKE_BACKEND_PLAIN))));
  std::deque<std::unique_ptr<Session>> sessions;
  std::vector<Session*> batch;
  for (int i = 0; i < 3; ++i)
    batch.push_back(sessions.emplace_back(must(Session::open(prompt, o))).get());
  for (const std::size_t i : {0u, 1u}) must(batch[i]->next());
  ::setenv("FAKE_FAIL", "step", 1);
  auto nexts = Session::step(batch);
  ::unsetenv("FAKE_FAIL");
  // What each of them has seen is computed by the steps that come.
  for (const std::size_t i : {0u, 1u, 2u}) {
    CHECK_FALSE(nexts[i].has_value());
    CHECK(batch[i]->fell_back());
    CHECK(batch[i]->logits().empty());
  }
  std::vector<TokenId> got;
  for (int step = 0; step < 20 && got.size() < want.size(); ++step) {
    nexts = Session::step(batch);
    for (const std::size_t i : {0u, 1u})
      if (nexts[i]) must(*nexts[i]);
    if (!nexts[2]) continue;
    if (const auto token = must(*nexts[2])) got.push_back(*token);
  }
  CHECK(got == want);
}

TEST_CASE("what a plug-in says beside what it computed is in the log, and once") {
  const TinyCheckpoint checkpoint(3);
  const auto prompt =
      conversation_on(must(Engine::open(fake_options(checkpoint, PC_FAKE_BACKEND_PLAIN))));
  const auto session = must(Session::open(prompt, {}));
  static std::string said;
  said.clear();
  set_log([](void*, std::int32_t, const char* message) { said += message; }, nullptr,
          LogLevel::kWarning);
  ::setenv("FAKE_REMARK", "The fan is loud. ", 1);
  for (int i = 0; i < 3; ++i) must(session->next());
  ::setenv("FAKE_REMARK", "It smells. ", 1);
  must(session->next());
  ::unsetenv("FAKE_REMARK");
  must(session->next());
  set_log(nullptr, nullptr, LogLevel::kNone);
  CHECK(said == "The fan is loud. It smells. ");
}

TEST_CASE("what is cancelled does not go to the CPU") {
  const TinyCheckpoint checkpoint(3);
  const auto prompt =
      conversation_on(must(Engine::open(fake_options(checkpoint, PC_FAKE_BACKEND_PLAIN))));
  const auto session = must(Session::open(prompt, {}));
  session->cancel();
  ::setenv("FAKE_FAIL", "timeline_open", 1);
  const auto next = session->next();
  ::unsetenv("FAKE_FAIL");
  REQUIRE_FALSE(next.ok());
  CHECK(next.error().code == Code::kCancelled);
  CHECK_FALSE(session->fell_back());
}

// Draws these first, whatever the logits say, and then what they say.
SessionOptions forced(std::vector<TokenId> tokens, std::uint32_t max_tokens, bool no_reuse) {
  SessionOptions o;
  o.max_tokens = max_tokens;
  o.no_reuse = no_reuse;
  o.mask = [tokens = std::move(tokens), at = std::size_t{0}](std::span<std::uint32_t> allowed,
                                                             const DrawPlace&) mutable {
    if (at == tokens.size()) return true;
    std::ranges::fill(allowed, 0u);
    const auto token = static_cast<std::uint32_t>(tokens[at++]);
    allowed[token / 32] = std::uint32_t{1} << token % 32;
    return true;
  };
  return o;
}

std::vector<TokenId> answer_of(Session& session) {
  std::vector<TokenId> tokens;
  while (const auto token = must(session.next())) tokens.push_back(*token);
  return tokens;
}

constexpr const char* kMore = R"(<prompt schema="s"><user>And <o/> what of it?</user></prompt>)";

// What is done to a session whose plug-in has no memory from some call on, and to one of the CPU's
// that uses no modules: both have the same tokens behind them, and say the same then.
TEST_CASE("a conversation goes on, on the CPU, where a plug-in has no more memory for it") {
  const TinyCheckpoint checkpoint(3);
  const auto engine_of = [&](const char* backend) {
    EngineOptions o = fake_options(checkpoint, backend);
    o.chat_template = "chatml";  // writes an answer as it was drawn
    return must(Engine::open(o));
  };
  // No token of the chat format among them, nor one that ends a turn.
  const std::vector<TokenId> first = {70, 71, 72}, second = {80, 81};
  std::vector<TokenId> both = first;
  both.insert(both.end(), second.begin(), second.end());
  using Body = std::function<void(Session&, const std::function<void(bool)>& full)>;
  const auto say = [](Session& session, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) must(session.next());
  };
  const std::vector<std::pair<const char*, Body>> ways = {
      {"in an answer",
       [&](Session& session, auto& full) {
         say(session, 2);
         full(true);
         say(session, 1);
         full(false);
       }},
      {"behind turns with a module",
       [&](Session& session, auto& full) {
         say(session, 3);
         must(session.append_pml(kMore));
         say(session, 1);
         full(true);
         say(session, 1);
         full(false);
       }},
      {"in turns with a module",
       [&](Session& session, auto& full) {
         say(session, 3);
         full(true);
         must(session.append_pml(kMore));
         full(false);
         say(session, 2);
       }},
      {"in a text",
       [&](Session& session, auto& full) {
         say(session, 2);
         full(true);
         must(session.append_text(" And more."));
         full(false);
       }},
      {"back in an answer",
       [&](Session& session, auto& full) {
         say(session, 3);
         must(session.append_pml(kMore));
         say(session, 2);
         full(true);
         must(session.rewind(session.position() - 1));
         full(false);
       }},
      {"from an earlier answer, moved before",
       [&](Session& session, auto& full) {
         say(session, 2);
         const Position there = session.position();
         say(session, 1);
         must(session.append_pml(kMore));
         full(true);
         say(session, 2);
         full(false);
         must(session.rewind(there));
       }},
  };
  for (const auto& [name, body] : ways) {
    INFO(name);
    const auto want = must(Session::open(conversation_on(engine_of("cpu")), forced(both, 9, true)));
    body(*want, [](bool) {});
    const auto got = must(
        Session::open(conversation_on(engine_of(PC_FAKE_BACKEND_PLAIN)), forced(both, 9, false)));
    body(*got,
         [](bool full) { full ? ::setenv("FAKE_FAIL", "step", 1) : ::unsetenv("FAKE_FAIL"); });
    CHECK(got->fell_back());
    CHECK(got->position() == want->position());
    CHECK(answer_of(*got) == answer_of(*want));
    must(got->append_text(" So."));
    must(want->append_text(" So."));
    CHECK(answer_of(*got) == answer_of(*want));
    CHECK(got->position() == want->position());
  }
}

// Two formats: one keeps an answer as it was drawn, the other writes it otherwise once turns
// follow.
TEST_CASE("turns of text go on, on the CPU, whatever the chat format does with the answer") {
  const TinyCheckpoint checkpoint(3);
  for (const char* format : {"chatml", "llama2"}) {
    INFO(format);
    const auto open = [&](const char* backend, bool no_reuse) {
      EngineOptions o = fake_options(checkpoint, backend);
      o.chat_template = format;
      return must(
          Session::open(conversation_on(must(Engine::open(o))), forced({70, 71, 72}, 5, no_reuse)));
    };
    const auto want = open("cpu", true), got = open(PC_FAKE_BACKEND_PLAIN, false);
    for (const auto& session : {want.get(), got.get()}) {
      for (int i = 0; i < 3; ++i) must(session->next());
      if (session == got.get()) ::setenv("FAKE_FAIL", "step", 1);
      must(session->append_pml(R"(<prompt schema="s"><user>And what of it?</user></prompt>)"));
      ::unsetenv("FAKE_FAIL");
    }
    CHECK(got->fell_back());
    CHECK(got->position() == want->position());
    CHECK(answer_of(*got) == answer_of(*want));
  }
}

// Nobody who asks for the same has the modules attached as the moved conversation saw them.
TEST_CASE("nothing is kept of a conversation that moved to the CPU with its modules") {
  const TinyCheckpoint checkpoint(3);
  const TempFolder cache;
  EngineOptions o = fake_options(checkpoint, PC_FAKE_BACKEND_PLAIN);
  o.cache_mode = CacheMode::kReadWrite;
  o.cache_dir = cache.path();
  const auto engine = must(Engine::open(o));
  const auto session = must(Session::open(conversation_on(engine), forced({70, 71}, 5, false)));
  must(session->next());
  ::setenv("FAKE_FAIL", "step", 1);
  must(session->next());
  must(
      session->append_text(" And so on, until there is more of it than the shortest link has: "
                           "Lisbon, Kyoto, Vienna, Dublin, Oslo, Rome, Bern, Paris, Sofia."));
  ::unsetenv("FAKE_FAIL");
  REQUIRE(session->fell_back());
  const std::size_t n_files = engine->store()->list()->size();
  CHECK(must(session->keep()) == 0);
  CHECK(engine->store()->list()->size() == n_files);
}

TEST_CASE("with a plug-in that is required a conversation waits for memory") {
  const TinyCheckpoint checkpoint(3);
  EngineOptions required = fake_options(checkpoint, PC_FAKE_BACKEND_PLAIN);
  required.require_backend = true;
  const auto session = must(Session::open(conversation_on(must(Engine::open(required))), {}));
  const auto first = must(session->next());
  ::setenv("FAKE_FAIL", "step", 1);
  const auto failed = session->next();
  ::unsetenv("FAKE_FAIL");
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().code == Code::kOutOfMemory);
  CHECK(must(session->next()) == *first + 1);
  CHECK_FALSE(session->fell_back());
}

}  // namespace
}  // namespace pc::test
