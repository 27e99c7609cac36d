// The plug-in seam with a fake plug-in: found by path, used through the same
// calls as the CPU, refused when it could not be trusted or understood.

#include "runtime/engine/backend_loader.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "runtime/engine/engine.h"
#include "runtime/schema/loaded_schema.h"
#include "runtime/session/session.h"
#include "tests/support/expect.h"
#include "tests/support/fake_options.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

TEST_CASE("a plug-in computes through the same seam") {
  const TinyCheckpoint checkpoint(1);
  const auto engine = Engine::open(fake_options(checkpoint, PC_FAKE_BACKEND_PLAIN));
  REQUIRE(engine.ok());
  REQUIRE((*engine)->remark().empty());
  REQUIRE(std::string((*engine)->backend().name()) == "fake");
  const auto schema = LoadedSchema::parse(
      *engine, R"(<schema name="s">Some text. <module name="m">A module.</module></schema>)", "");
  REQUIRE(schema.ok());
  const auto prompt = LoadedPrompt::parse(*schema, R"(<prompt schema="s"><m/>Question?</prompt>)");
  REQUIRE(prompt.ok());
  SessionOptions o;
  o.max_tokens = 3;
  const auto session = Session::open(*prompt, o);
  REQUIRE(session.ok());
  // Its "logits" point at the number of tokens seen: cached and fresh ones.
  const auto n = static_cast<TokenId>((*prompt)->plan.n_tokens());
  for (TokenId i = 0; i < 3; ++i) {
    const auto token = (*session)->next();
    REQUIRE(token.ok());
    REQUIRE(**token == n + i);
  }
}

TEST_CASE(
    "likelihoods of a prompt's tokens are refused, by name, where a plug-in hands out no rows") {
  const TinyCheckpoint checkpoint(1);
  const auto engine = Engine::open(fake_options(checkpoint, PC_FAKE_BACKEND_PLAIN));
  REQUIRE(engine.ok());
  const auto schema = LoadedSchema::parse(*engine, R"(<schema name="s"/>)", "");
  REQUIRE(schema.ok());
  const auto prompt = LoadedPrompt::parse(*schema, R"(<prompt schema="s">Question?</prompt>)");
  REQUIRE(prompt.ok());
  SessionOptions o;
  o.scoring.emplace();
  const auto session = Session::open(*prompt, o);
  REQUIRE(session.ok());
  const Status computed = (*session)->prefill();
  REQUIRE_FALSE(computed.ok());
  REQUIRE(computed.error().code == Code::kUnsupported);
  REQUIRE(computed.error().message.find("fake") != std::string::npos);
}

TEST_CASE("a plug-in that cannot be used leaves the CPU at work, and says why") {
  const TinyCheckpoint checkpoint(2);
  const TempFolder folder;
  const std::string loose = folder.path() + "/loose.so", text = folder.path() + "/text.so";
  std::filesystem::copy(PC_FAKE_BACKEND_PLAIN, loose);
  ::chmod(loose.c_str(), 0777);
  folder.write("text.so", "not a library");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {folder.path() + "/missing.so", "No such file"},
      {loose, "another user"},
      {text, "cannot load"},
      {PC_FAKE_BACKEND_OLD, "interface version"},
      {PC_FAKE_BACKEND_CPU, "calls itself cpu"},
      {PC_FAKE_BACKEND_NAMELESS, "incomplete"},
      {PC_FAKE_BACKEND_COMPARING_NOTHING, "incomplete"},
      {folder.path(), "regular file"}};
  for (const auto& [backend, why] : cases) {
    INFO(backend);
    const auto engine = Engine::open(fake_options(checkpoint, backend));
    REQUIRE(engine.ok());
    REQUIRE(std::string((*engine)->backend().name()) == "cpu");
    REQUIRE((*engine)->remark().find(why) != std::string::npos);
  }
}

TEST_CASE("whatever call of a plug-in fails, the request says so, and the next one is answered") {
  const TinyCheckpoint checkpoint(3);
  const auto fail = [](const char* call) { ::setenv("FAKE_FAIL", call, 1); };
  fail("model_open");
  const auto cpu = Engine::open(fake_options(checkpoint, PC_FAKE_BACKEND_PLAIN));
  ::unsetenv("FAKE_FAIL");
  REQUIRE(cpu.ok());
  CHECK(std::string((*cpu)->backend().name()) == "cpu");
  CHECK((*cpu)->remark().find("fails in model_open") != std::string::npos);

  EngineOptions required = fake_options(checkpoint, PC_FAKE_BACKEND_PLAIN);
  required.require_backend = true;
  const auto engine = Engine::open(required);
  REQUIRE(engine.ok());
  const auto schema = LoadedSchema::parse(
      *engine, R"(<schema name="s">Some text. <module name="m">A module.</module></schema>)", "");
  REQUIRE(schema.ok());
  const auto prompt = LoadedPrompt::parse(*schema, R"(<prompt schema="s"><m/>Question?</prompt>)");
  REQUIRE(prompt.ok());
  for (const char* call : {"timeline_open", "step", "resident_create", "timeline_attach"}) {
    INFO(call);
    const auto session = Session::open(*prompt, {});
    REQUIRE(session.ok());
    fail(call);
    const auto token = (*session)->next();
    ::unsetenv("FAKE_FAIL");
    REQUIRE_FALSE(token.ok());
    CHECK(token.error().code == Code::kOutOfMemory);
    CHECK(token.error().message.find(std::string("fails in ") + call) != std::string::npos);
    CHECK((*session)->next().ok());  // it starts anew
  }
}

TEST_CASE("a plug-in that cannot give states back fails to keep them, and the session goes on") {
  const TinyCheckpoint checkpoint(3);
  const TempFolder cache;
  EngineOptions o = fake_options(checkpoint, PC_FAKE_BACKEND_PLAIN);
  o.cache_mode = CacheMode::kReadWrite;
  o.cache_dir = cache.path();
  const auto schema = must(LoadedSchema::parse(must(Engine::open(o)), R"(<schema name="s"/>)", ""));
  std::string text;
  while (text.size() < 2 * Chain::kMaxTokens) text += "the tram of Oslo ";
  const auto prompt = must(LoadedPrompt::of_text(schema, text));
  const auto session = must(Session::open(prompt, {}));
  must(session->next());
  ::setenv("FAKE_FAIL", "timeline_read", 1);
  const auto kept = session->keep();
  ::unsetenv("FAKE_FAIL");
  REQUIRE_FALSE(kept.ok());
  CHECK(kept.error().message.find("fails in timeline_read") != std::string::npos);
  must(session->next());
  CHECK(must(session->keep()) >= Chain::kMaxTokens);
  const auto again = must(Session::open(prompt, {}));
  must(again->prefill());
  CHECK(again->stats().chained_tokens >= Chain::kMaxTokens);
}

// What the CPU would answer from a plug-in's states is nonsense, and no checksum shows it.
TEST_CASE("states of one backend, or of one version of it, are never found by another") {
  const TinyCheckpoint checkpoint(4);
  const TempFolder cache;
  std::vector<ModuleIdentity> identities;
  for (const char* backend : {"cpu", PC_FAKE_BACKEND_PLAIN, PC_FAKE_BACKEND_RENEWED}) {
    INFO(backend);
    EngineOptions o = fake_options(checkpoint, backend);
    o.cache_mode = CacheMode::kReadWrite;
    o.cache_dir = cache.path();
    const auto engine = Engine::open(o);
    REQUIRE(engine.ok());
    const auto schema = LoadedSchema::parse(
        *engine, R"(<schema name="s"><module name="m">A module.</module></schema>)", "");
    REQUIRE(schema.ok());
    bool held = false;
    REQUIRE((*schema)->peek(*(*schema)->modules()[0], &held).miss == MissReason::kNotEncoded);
    REQUIRE(
        (*schema)
            ->encode((*schema)->modules(), [](auto, auto&, auto& module) { return module.stored; })
            .ok());
    REQUIRE((*engine)->store()->find((*schema)->modules()[0]->identity));
    identities.push_back((*schema)->modules()[0]->identity);
  }
  REQUIRE(identities[0].backend == "cpu");
  REQUIRE(identities[1].backend == "fake");
  const auto difference = [&](std::size_t a, std::size_t b) {
    return std::string(first_difference(causes_of(identities[a]), causes_of(identities[b])));
  };
  REQUIRE(difference(0, 1) == "backend");
  REQUIRE(difference(1, 2) == "version of the arithmetic");
}

TEST_CASE("what a plug-in computes must be finite: no token, and no module, comes of it") {
  const TinyCheckpoint checkpoint(6);
  for (const KvType type : {KvType::kF32, KvType::kBf16, KvType::kQ8}) {
    INFO(kv_type_name(type));
    const TempFolder cache;
    EngineOptions o = fake_options(checkpoint, PC_FAKE_BACKEND_NOT_FINITE);
    o.cache_mode = CacheMode::kReadWrite;
    o.cache_dir = cache.path();
    o.kv_type = type;
    const auto engine = Engine::open(o);
    REQUIRE(engine.ok());
    REQUIRE(std::string((*engine)->backend().name()) == "fake");
    const auto schema = LoadedSchema::parse(
        *engine, R"(<schema name="s"><module name="m">A module.</module></schema>)", "");
    REQUIRE(schema.ok());
    const Status encoded =
        (*schema)->encode((*schema)->modules(), [](auto, auto&, auto&) { return true; });
    REQUIRE_FALSE(encoded.ok());
    CHECK(encoded.error().code == Code::kNotFinite);
    CHECK(encoded.error().message.find("backend fake computed states") != std::string::npos);
    CHECK(encoded.error().message.find("layer 2 of the 2") != std::string::npos);
    CHECK((*engine)->store()->list()->empty());

    const auto prompt = LoadedPrompt::parse(*schema, R"(<prompt schema="s"><m/>Why?</prompt>)");
    REQUIRE(prompt.ok());
    SessionOptions computed;
    computed.no_reuse = true;
    const auto session = Session::open(*prompt, computed);
    REQUIRE(session.ok());
    const auto token = (*session)->next();
    REQUIRE_FALSE(token.ok());
    CHECK(token.error().code == Code::kNotFinite);
    CHECK(token.error().message.find("backend fake computed logits") != std::string::npos);
    const std::string last = std::to_string((*prompt)->plan.end - 1);
    CHECK(token.error().message.find("position " + last) != std::string::npos);
    CHECK((*session)->logits().empty());
  }
}

TEST_CASE("a backend's name that cannot be meant is an error") {
  const TinyCheckpoint checkpoint(3);
  for (const char* name : {"cdua", "relative.so"}) {
    const auto engine = Engine::open(fake_options(checkpoint, name));
    REQUIRE_FALSE(engine.ok());
    REQUIRE(engine.error().code == Code::kInvalidArgument);
    REQUIRE(engine.error().message.find("absolute path") != std::string::npos);
  }
}

}  // namespace
}  // namespace pc::test
