// Conversations of a model whose layers carry states: nothing is reused, and whatever is said,
// taken back or forked gives what a new conversation gives.
#include <catch2/catch.hpp>
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

constexpr const char* kSchema =
    R"(<schema name="s">ab <module name="m">cab cab</module> <module name="n">a cc bb</module>)"
    R"(<scaffold name="both" modules="m n"/></schema>)";

struct Rig {
  Rig() {
    EngineOptions o;
    o.model_path = golden("gguf/lfm2.gguf");
    o.cache_dir = folder.path();
    o.kv_type = KvType::kF32;
    o.precision = Precision::kExact;
    o.n_threads = 2;
    engine = must(Engine::open(o));
    schema = must(LoadedSchema::parse(engine, kSchema, ""));
  }

  std::unique_ptr<Session> open(const std::string& prompt, std::uint32_t max_tokens = 6) const {
    SessionOptions o;
    o.max_tokens = max_tokens;
    return must(Session::open(must(LoadedPrompt::parse(schema, prompt)), o));
  }

  TempFolder folder;
  std::shared_ptr<const Engine> engine;
  std::shared_ptr<LoadedSchema> schema;
};

std::vector<TokenId> say(Session& session, std::size_t most = 100) {
  std::vector<TokenId> tokens;
  while (tokens.size() < most) {
    const auto token = must(session.next());
    if (!token) break;
    tokens.push_back(*token);
  }
  return tokens;
}

}  // namespace

TEST_CASE("modules of a model with recurrent layers are computed, and the engine says so") {
  const Rig rig;
  CHECK(rig.engine->remark().find("every prompt is computed whole") != std::string::npos);
  const auto with = rig.open(R"(<prompt schema="s"><m/><n/>bca</prompt>)");
  const auto said = say(*with);
  CHECK(with->stats().cached_tokens == 0);
  CHECK(with->stats().prompt_tokens == with->stats().computed_tokens);
  // The same conversation again, behind one that was kept.
  static_cast<void>(with->keep());
  const auto again = rig.open(R"(<prompt schema="s"><m/><n/>bca</prompt>)");
  CHECK(say(*again) == said);
  CHECK(again->stats().cached_tokens == 0);
}

TEST_CASE("a conversation that went back goes on as if it had never been elsewhere") {
  const Rig rig;
  const auto session = rig.open(R"(<prompt schema="s"><m/>bca</prompt>)", 12);
  const auto first = say(*session, 9);
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
  const auto session = rig.open(R"(<prompt schema="s"><n/>bca</prompt>)", 12);
  const auto begun = say(*session, 3);
  const auto fork = must(session->fork());
  const auto rest = say(*session, 5);
  CHECK(say(*fork, 5) == rest);
}

TEST_CASE("an answer and what is appended are read as the same tokens given at once are") {
  const Rig rig;
  const auto session = rig.open(R"(<prompt schema="s"><n/>bca</prompt>)", 4);
  Tokens text = say(*session);
  const Tokens more = must(rig.engine->tokenize("cab", {.opens = false}));
  REQUIRE(session->append_tokens(more).ok());
  const auto other = rig.open(R"(<prompt schema="s"><n/>bca</prompt>)", 4);
  text.insert(text.end(), more.begin(), more.end());
  REQUIRE(other->append_tokens(text).ok());
  CHECK(say(*other) == say(*session));
}

}  // namespace pc::test
