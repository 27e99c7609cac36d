// Conversations of a model whose layers carry states: what is found again, gone on with, taken back
// or forked gives what a new conversation gives.
#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/schema/loaded_schema.h"
#include "runtime/session/session.h"
#include "tests/support/expect.h"
#include "tests/support/fixture.h"
#include "tests/support/temp_folder.h"

namespace pc::test {
namespace {

// Without modules, which recurrent_modules_test has.
constexpr const char* kSchema = R"(<schema name="s"/>)";

struct Rig {
  Rig() { start(); }

  // Another engine over the same store, as after a restart.
  void start() {
    EngineOptions o;
    o.model_path = model;
    o.cache_dir = folder.path();
    o.kv_type = KvType::kF32;
    o.precision = Precision::kExact;
    o.n_threads = 2;
    engine = must(Engine::open(o));
    schema = must(LoadedSchema::parse(engine, kSchema, ""));
  }

  std::unique_ptr<Session> open(const std::string& prompt, std::uint32_t max_tokens = 6) const {
    return must(Session::open(must(LoadedPrompt::parse(schema, prompt)), options(max_tokens)));
  }

  // Of answers that never end by themselves.
  SessionOptions options(std::uint32_t max_tokens) const {
    SessionOptions o;
    o.max_tokens = max_tokens;
    for (const std::int32_t end : engine->model().eos)
      o.sampler.bias.push_back({end, -std::numeric_limits<float>::infinity()});
    return o;
  }

  const std::string model =
      golden(GENERATE("gguf/lfm2.gguf", "gguf/qwen3_5.gguf", "gguf/qwen3_next.gguf",
                      "gguf/granite_hybrid.gguf", "gguf/falcon_h1.gguf", "gguf/nemotron_h.gguf",
                      "gguf/nemotron_h_moe.gguf", "gguf/lfm2_moe.gguf"));
  TempFolder folder;
  std::shared_ptr<const Engine> engine;
  std::shared_ptr<LoadedSchema> schema;
};

std::vector<TokenId> say(Session& session, std::size_t most = 1000) {
  std::vector<TokenId> tokens;
  while (tokens.size() < most) {
    const auto token = must(session.next());
    if (!token) break;
    tokens.push_back(*token);
  }
  return tokens;
}

}  // namespace

// Without anything kept.
std::vector<TokenId> say_anew(const Rig& rig, const std::string& prompt) {
  SessionOptions o = rig.options(6);
  o.no_reuse = true;
  const auto session = must(Session::open(must(LoadedPrompt::parse(rig.schema, prompt)), o));
  return say(*session);
}

std::string repeated(const std::string& text, int n) {
  std::string all;
  for (int i = 0; i < n; ++i) all += text;
  return all;
}

TEST_CASE("a conversation is found again up to where its states were kept, exactly") {
  Rig rig;
  const std::string before =
      R"(<prompt schema="s">ab cab cab a cc bb)" + repeated("bca abc cab ", 60);
  const auto first = rig.open(before + "</prompt>");
  const auto said = say(*first);
  CHECK(first->stats().cached_tokens <= 1);  // the text's first token is the schema's
  CHECK(must(first->keep()) > 0);
  rig.start();
  const auto again = rig.open(before + "</prompt>");
  CHECK(say(*again) == said);
  CHECK(again->stats().cached_tokens >= Chain::kMaxTokens);
  CHECK(again->stats().computed_tokens <= Chain::kMaxTokens);
  // What follows is new, and a departure within what was kept has states of an earlier place alone.
  for (const std::string& more : {repeated("cc ab ", 7), repeated("bca abc cab ", 30)}) {
    const std::string prompt = before + more + "</prompt>";
    const auto gone_on = rig.open(prompt);
    CHECK(say(*gone_on) == say_anew(rig, prompt));
  }
}

TEST_CASE("where a link was kept without states, whoever computes it again keeps them") {
  const Rig rig;
  const std::string begin = R"(<prompt schema="s">ab cab cab)" + repeated("bca abc cab ", 60);
  const auto whole = rig.open(begin + repeated("cc ab bb ", 50) + "</prompt>");
  static_cast<void>(say(*whole));
  CHECK(must(whole->keep()) > 0);
  const auto shorter = rig.open(begin + "</prompt>");  // up to a link amid the other
  static_cast<void>(say(*shorter));
  CHECK(shorter->stats().cached_tokens <= 1);
  CHECK(must(shorter->keep()) > 0);
  const auto again = rig.open(begin + "ab</prompt>");
  CHECK(say(*again) == say_anew(rig, begin + "ab</prompt>"));
  CHECK(again->stats().cached_tokens >= Chain::kMaxTokens);
}

TEST_CASE("an answer that was kept is gone on with by another session") {
  const Rig rig;
  const auto first =
      rig.open(R"(<prompt schema="s">ab cab cab)" + repeated("bca abc ", 40) + "</prompt>", 280);
  const auto said = say(*first);
  REQUIRE(said.size() == 280);
  CHECK(must(first->keep()) > 0);
  // All that was said, as tokens, and some more.
  const auto more = must(rig.engine->tokenize("cab abc", {.opens = false}));
  REQUIRE(first->append_tokens(more).ok());
  const auto expected = say(*first);
  Tokens all;
  const auto prompt = must(LoadedPrompt::parse(
      rig.schema, R"(<prompt schema="s">ab cab cab)" + repeated("bca abc ", 40) + "</prompt>"));
  for (const pml::PlanRun& run : prompt->plan.runs)
    all.insert(all.end(), run.tokens.begin(), run.tokens.end());
  all.insert(all.end(), said.begin(), said.end());
  all.insert(all.end(), more.begin(), more.end());
  const auto empty = must(LoadedSchema::parse(rig.engine, "<schema name=\"e\"/>", ""));
  const auto other =
      must(Session::open(must(LoadedPrompt::of_tokens(empty, all)), rig.options(280)));
  CHECK(say(*other) == expected);
  CHECK(other->stats().cached_tokens >= 2 * Chain::kMaxTokens);
  CHECK(other->stats().computed_tokens <= Chain::kMaxTokens);
}

TEST_CASE("a conversation that went back goes on as if it had never been elsewhere") {
  const Rig rig;
  const auto session = rig.open(R"(<prompt schema="s">ab cab cabbca</prompt>)", 12);
  const auto first = say(*session, 9);
  REQUIRE(first.size() == 9);
  const Position end = session->position();
  for (const Position back : {end - 1, end - 3, end - 8}) {
    INFO("to " << back);
    const auto place = static_cast<std::size_t>(8 - (end - back));  // the ninth is not read yet
    REQUIRE(session->rewind(back).ok());
    const std::vector<TokenId> rest(first.begin() + static_cast<std::ptrdiff_t>(place),
                                    first.end());
    CHECK(say(*session, rest.size()) == rest);
  }
}

TEST_CASE("forks of a conversation go their own ways") {
  const Rig rig;
  const auto session = rig.open(R"(<prompt schema="s"> a cc bbbca</prompt>)", 12);
  const auto begun = say(*session, 3);
  const auto fork = must(session->fork());
  const auto rest = say(*session, 5);
  CHECK(say(*fork, 5) == rest);
}

TEST_CASE("an answer and what is appended are read as the same tokens given at once are") {
  const Rig rig;
  const auto session = rig.open(R"(<prompt schema="s"> a cc bbbca</prompt>)", 4);
  Tokens text = say(*session);
  const Tokens more = must(rig.engine->tokenize("cab", {.opens = false}));
  REQUIRE(session->append_tokens(more).ok());
  const auto other = rig.open(R"(<prompt schema="s"> a cc bbbca</prompt>)", 4);
  text.insert(text.end(), more.begin(), more.end());
  REQUIRE(other->append_tokens(text).ok());
  CHECK(say(*other) == say(*session));
}

}  // namespace pc::test
