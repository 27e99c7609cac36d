// The whole path over files of every family: the GGUF fixtures through engine,
// schema and session, and what differs where positions were learned.

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "runtime/engine/engine.h"
#include "runtime/json/json.h"
#include "runtime/reports/reports.h"
#include "runtime/schema/loaded_schema.h"
#include "runtime/session/session.h"
#include "tests/support/expect.h"
#include "tests/support/fixture.h"
#include "tests/support/temp_folder.h"

namespace pc::test {
namespace {

std::shared_ptr<const Engine> open(const std::string& path, const std::string& cache) {
  EngineOptions o;
  o.model_path = path;
  o.cache_dir = cache;
  o.kv_type = KvType::kF32;
  o.n_threads = 2;
  return must(Engine::open(o));
}

std::vector<TokenId> answer(const std::shared_ptr<LoadedSchema>& schema, const std::string& prompt,
                            bool no_reuse, SessionStats* stats = nullptr) {
  SessionOptions o;
  o.max_tokens = 4;
  o.no_reuse = no_reuse;
  const auto session = must(Session::open(must(LoadedPrompt::parse(schema, prompt)), o));
  std::vector<TokenId> tokens;
  while (const auto token = must(session->next())) tokens.push_back(*token);
  if (stats) *stats = session->stats();
  return tokens;
}

// Short enough for the smallest context (48 tokens), of letters that every fixture has.
constexpr const char* kSchema =
    R"(<schema name="s">ab <module name="m">cab cab</module><module name="n">a cc</module>)"
    R"(</schema>)";
constexpr const char* kPrompt = R"(<prompt schema="s"><m/>bca</prompt>)";

std::string with_text_before(const std::string& text) {
  return R"(<schema name="s">)" + text +
         R"( <module name="m">cab cab</module><module name="n">a cc</module></schema>)";
}

ModuleKey key_of_m(const std::shared_ptr<LoadedSchema>& schema) {
  for (const auto& module : schema->modules()) {
    if (module->job.name == "m") return key_of(module->identity);
  }
  FAIL("no job m");
  return {};
}

TEST_CASE("in every GGUF file one module after its prefix answers like the full prefill") {
  const auto index = must(JsonDocument::read_file(golden("gguf/index.json")));
  std::set<std::string> families;
  for (std::size_t i = 0; i < index.root().size(); ++i) {
    const std::string file(index.root().at(i).member("file")->string().value());
    INFO(file);
    TempFolder cache;
    const auto engine = open(golden("gguf/" + file), cache.path());
    families.insert(engine->model().family);
    const auto schema = must(LoadedSchema::parse(engine, kSchema, ""));
    SessionStats first, second;
    const auto full = answer(schema, kPrompt, true);
    CHECK(answer(schema, kPrompt, false, &first) == full);
    CHECK(first.modules_encoded == 2);
    const auto again = open(golden("gguf/" + file), cache.path());
    const auto reopened = must(LoadedSchema::parse(again, kSchema, ""));
    CHECK(answer(reopened, kPrompt, false, &second) == full);
    CHECK(second.modules_encoded == 0);
    CHECK(second.cached_tokens > 0);
  }
  CHECK(families.size() >= 12);
}

TEST_CASE("learned positions: a module is found again only where the schema places it") {
  TempFolder cache;
  const auto engine = open(golden("gguf/gpt2.gguf"), cache.path());
  CHECK_FALSE(engine->model().relocates());
  const auto here = must(LoadedSchema::parse(engine, with_text_before("ab"), ""));
  const auto there = must(LoadedSchema::parse(engine, with_text_before("ab abc"), ""));
  // The text before is seen with attend=prefix; with attend=self only the place is left.
  const auto self = [&](const std::string& before) {
    std::string text = with_text_before(before);
    return must(LoadedSchema::parse(
        engine, text.replace(text.find(" name=\"s\""), 9, " name=\"s\" attend=\"self\""), ""));
  };
  CHECK(key_of_m(here) != key_of_m(there));
  CHECK(key_of_m(self("cd")) == key_of_m(self("dc")));
  CHECK(key_of_m(self("cd")) != key_of_m(self("cd dc")));

  // The other module first: m keeps its place all the same.
  const auto prompt = must(LoadedPrompt::parse(here, R"(<prompt schema="s"><n/>b</prompt>)"));
  Position at = -1;
  for (const pml::PlanRun& run : prompt->plan.runs)
    if (run.label == "n") at = run.position;
  const auto all = must(LoadedPrompt::parse(here, R"(<prompt schema="s"><m/><n/>b</prompt>)"));
  for (const pml::PlanRun& run : all->plan.runs)
    if (run.label == "n") CHECK(run.position == at);
  CHECK(at > 0);

  const std::string report = explain_prompt(*all);
  const auto json = must(JsonDocument::parse(report, "explain"));
  CHECK(json.root().member("positions")->string().value() == "schema");
  CHECK_FALSE(json.root().member("relocates")->boolean().value());
}

TEST_CASE("norms behind rotation bind states to their positions") {
  for (const char* name : {"gguf/hunyuan.gguf", "models/hunyuan"}) {
    const auto model = bind_model(golden(name), 0);
    REQUIRE(model.ok());
    CHECK_FALSE((*model)->relocates());
  }
}

TEST_CASE("an answer in channels goes on behind a message's end") {
  TempFolder cache;
  const auto engine = open(golden("gguf/gpt_oss.gguf"), cache.path());
  const auto ends = [&](const char* spelling) {
    return engine->ends_turn(*engine->tokenizer().token_to_id(spelling));
  };
  CHECK(ends("<|return|>"));
  CHECK(ends("<|call|>"));
  CHECK_FALSE(ends("<|end|>"));
  CHECK_FALSE(ends("<|channel|>"));
}

TEST_CASE("learned positions: what would stand elsewhere than it was encoded is refused") {
  TempFolder cache;
  const auto schema = LoadedSchema::parse(
      open(golden("gguf/gpt2.gguf"), cache.path()),
      R"(<schema name="s" attend="slots"><module name="m">b</module></schema>)", "");
  REQUIRE_FALSE(schema.ok());
  CHECK(schema.error().code == Code::kUnsupported);
}

TEST_CASE("a prompt past the learned positions is refused before any work") {
  TempFolder cache;
  const auto engine = open(golden("gguf/gpt2.gguf"), cache.path());
  std::string text;
  for (int i = 0; i < 60; ++i) text += "b ";
  const auto schema = must(LoadedSchema::parse(
      engine, R"(<schema name="s"><module name="m">)" + text + "</module></schema>", ""));
  const auto session = Session::open(
      must(LoadedPrompt::parse(schema, R"(<prompt schema="s"><m/>a</prompt>)")), SessionOptions());
  REQUIRE_FALSE(session.ok());
  CHECK(session.error().code == Code::kContextFull);
}

}  // namespace
}  // namespace pc::test
