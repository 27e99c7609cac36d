// Texts in structs of the C API: a length that was not set is no empty text.

#include <catch2/catch.hpp>
#include <promptcache/promptcache.hpp>
#include <string>

#include "tests/support/temp_folder.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

namespace api = promptcache;

api::Engine open_engine(const TinyCheckpoint& checkpoint, const TempFolder& cache) {
  const std::string path = checkpoint.path();
  api::EngineOptions options;
  options.model_path = path.c_str();
  options.cache_dir = cache.path().c_str();
  options.chat_template = "llama2";
  return api::Engine(options);
}

std::size_t tokens_of(const api::Schema& schema, const pc_message& message) {
  pc_prompt* prompt = nullptr;
  std::size_t n = 0;
  REQUIRE(pc_prompt_from_messages(schema.get(), &message, 1, &prompt, nullptr) == PC_OK);
  CHECK(pc_prompt_tokens(prompt, nullptr, 0, &n, nullptr) == PC_OK);
  pc_prompt_close(prompt);
  return n;
}

TEST_CASE("a length of 0 in a struct is that of a NUL-terminated text") {
  const TinyCheckpoint checkpoint(3);
  const TempFolder cache;
  const api::Engine engine = open_engine(checkpoint, cache);
  const api::Schema schema = api::Schema::plain(engine);
  const auto text = [&](const char* content, std::size_t bytes) {
    return tokens_of(schema, {"user", content, bytes, nullptr, 0});
  };
  const auto in_a_part = [&](std::size_t bytes) {
    const pc_part part = {"Where to?", bytes, nullptr, nullptr, 0};
    return tokens_of(schema, {"user", nullptr, 0, &part, 1});
  };
  const std::size_t want = text("Where to?", PC_NUL_TERMINATED);
  CHECK(text("Where to?", 0) == want);
  CHECK(in_a_part(0) == want);
  CHECK(in_a_part(9) == want);
  CHECK(text("", 0) < want);
  CHECK(text("Where to?", 5) < want);
}

}  // namespace
}  // namespace pc::test
