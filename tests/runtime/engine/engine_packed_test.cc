// An engine whose weights are packed: what holds of its steps.

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/schema/loaded_schema.h"
#include "runtime/session/session.h"
#include "tests/support/count_allocations.h"
#include "tests/support/expect.h"
#include "tests/support/fixture.h"
#include "tests/support/temp_folder.h"

namespace pc::test {
namespace {

TEST_CASE("no token allocates where weights are packed") {
  const char* source = std::getenv("PC_SOURCE_DIR");
  REQUIRE(source != nullptr);
  const TempFolder cache;
  EngineOptions options;
  options.model_path = std::string(source) + "/tests/golden/gguf/llama_q8_0.gguf";
  options.cache_dir = cache.path();
  options.n_threads = 2;
  const auto engine = must(Engine::open(options));
  REQUIRE(engine->remark() == "");  // else it would say why they are not
  const auto schema = must(LoadedSchema::parse(engine, "<schema name=\"s\"/>", ""));
  SessionOptions answer;
  answer.max_tokens = 64;
  answer.max_draft = 0;  // drafts want their logits
  const auto session = must(Session::open(
      must(LoadedPrompt::parse(schema, "<prompt schema=\"s\">abc</prompt>")), answer));
  for (int i = 0; i < 2; ++i) REQUIRE(must(session->next()).has_value());
  const long before = allocations();
  int steps = 0;
  while (steps < 40 && session->next().value().has_value()) ++steps;
  CHECK(allocations() - before == 0);
  CHECK(steps >= 20);
}

TEST_CASE("packed weights that are damaged cost no answer, and the next start makes them anew") {
  const TempFolder cache;
  EngineOptions options;
  options.model_path = golden("gguf/llama_q8_0.gguf");
  options.cache_dir = cache.path();
  const auto answer = [&] {
    const auto engine = must(Engine::open(options));
    CHECK(engine->remark() == "");
    const auto schema = must(LoadedSchema::parse(engine, "<schema name=\"s\"/>", ""));
    SessionOptions wanted;
    wanted.max_tokens = 8;
    const auto session = must(Session::open(
        must(LoadedPrompt::parse(schema, "<prompt schema=\"s\">abc</prompt>")), wanted));
    std::vector<int> tokens;
    while (const auto token = session->next().value()) tokens.push_back(*token);
    return tokens;
  };
  const std::vector<int> tokens = answer();
  const auto packed = [&] {
    for (const auto& entry : std::filesystem::directory_iterator(cache.path() + "/packed"))
      if (entry.path().filename().string().size() == 64) return entry.path();
    return std::filesystem::path();
  };
  const std::filesystem::path file = packed();
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  {
    std::fstream bytes(file, std::ios::binary | std::ios::in | std::ios::out);
    bytes.seekp(-100, std::ios::end);
    bytes.write("damaged", 7);
  }
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  CHECK(answer() == tokens);
  CHECK_FALSE(std::filesystem::exists(file));
  CHECK(answer() == tokens);
  CHECK(std::filesystem::exists(file));
}

TEST_CASE("exact precision packs nothing, and its modules have keys of their own") {
  const TempFolder cache;
  EngineOptions options;
  options.model_path = golden("gguf/llama_q8_0.gguf");
  options.cache_dir = cache.path();
  options.kv_type = KvType::kF32;
  const auto key = [&] {
    const auto schema =
        must(LoadedSchema::parse(must(Engine::open(options)),
                                 R"(<schema name="s"><module name="m">ab</module></schema>)", ""));
    return key_of(schema->modules()[0]->identity);
  };
  options.precision = Precision::kExact;
  const ModuleKey exact = key();
  CHECK(must(Engine::open(options))->remark() == "");
  CHECK_FALSE(std::filesystem::exists(cache.path() + "/packed"));
  CHECK(key() == exact);
  options.precision = Precision::kFast;
  CHECK(key() != exact);
  CHECK(std::filesystem::exists(cache.path() + "/packed"));
}

}  // namespace
}  // namespace pc::test
