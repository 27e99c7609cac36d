// One schema used by many threads at once: encoding all, explaining, describing
// and answering, with nothing stored at the start.

#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/reports/reports.h"
#include "runtime/schema/loaded_schema.h"
#include "runtime/session/session.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

constexpr const char* kSchema = R"(<schema name="s">Be short.
  <module name="a">The tram costs three euros.</module>
  <module name="b">The museum opens at nine. <module name="c">Its garden is free.</module></module>
  <scaffold name="both" modules="a b"/></schema>)";
constexpr const char* kPrompt = R"(<prompt schema="s"><a/><b><c/></b>What is free?</prompt>)";

std::vector<TokenId> answer(const std::shared_ptr<LoadedSchema>& schema) {
  SessionOptions options;
  options.max_tokens = 6;
  auto prompt = LoadedPrompt::parse(schema, kPrompt);
  if (!prompt.ok()) return {};
  auto session = Session::open(std::move(prompt).value(), options);
  std::vector<TokenId> tokens;
  while (session.ok()) {
    const auto token = (*session)->next();
    if (!token.ok()) return {};
    if (!*token) break;
    tokens.push_back(**token);
  }
  return tokens;
}

TEST_CASE("encoding, explaining and answering at once give what each gives alone") {
  const TinyCheckpoint checkpoint(5);
  TempFolder cache;
  EngineOptions options;
  options.model_path = checkpoint.path();
  options.kv_type = KvType::kF32;
  options.n_threads = 1;
  options.cache_dir = cache.path() + "/alone";
  auto alone = Engine::open(options);
  REQUIRE(alone.ok());
  const auto want = answer(LoadedSchema::parse(*alone, kSchema, "").value());
  REQUIRE_FALSE(want.empty());

  for (int round = 0; round < 4; ++round) {
    options.cache_dir = cache.path() + "/" + std::to_string(round);
    auto engine = Engine::open(options);
    REQUIRE(engine.ok());
    const auto schema = LoadedSchema::parse(*engine, kSchema, "").value();
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&] {
        const auto all = [](std::uint32_t, const std::string&, const AcquiredModule&) {
          return true;
        };
        if (!schema->encode(schema->modules(), all).ok()) ++wrong;
      });
      threads.emplace_back([&] {
        if (answer(schema) != want) ++wrong;
      });
      threads.emplace_back([&] {
        for (int j = 0; j < 20; ++j) {
          const auto prompt = LoadedPrompt::parse(schema, kPrompt);
          if (!prompt.ok() || explain_prompt(**prompt).empty()) ++wrong;
          if (describe_schema(*schema).empty()) ++wrong;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
  }
}

}  // namespace
}  // namespace pc::test
