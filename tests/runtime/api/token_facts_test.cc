// One token of an engine's vocabulary by itself.

#include <catch2/catch.hpp>
#include <promptcache/promptcache.hpp>
#include <string>

#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

promptcache::Engine open(const TinyCheckpoint& checkpoint) {
  const std::string path = checkpoint.path();
  promptcache::EngineOptions options;
  options.model_path = path.c_str();
  options.cache_mode = PC_CACHE_OFF;
  options.chat_template = "llama2";
  return promptcache::Engine(options);
}

std::string bytes_of(const pc_token_facts& facts) {
  return {facts.bytes, facts.n_bytes};
}

TEST_CASE("the bytes of a text's tokens are the text, as it stands amid another") {
  const TinyCheckpoint checkpoint(5);
  const promptcache::Engine engine = open(checkpoint);
  const std::string text = "The tram, and h\xc3\xa9llo \xf0\x9f\x98\x80";
  std::string all;
  for (const std::int32_t token : engine.tokenize(text)) {
    const pc_token_facts facts = engine.token(token);
    CHECK_FALSE(facts.is_control);
    CHECK_FALSE(facts.ends_turn);
    all += bytes_of(facts);
  }
  CHECK(all == " " + text);  // with the space that sentencepiece puts in front
}

TEST_CASE("each token is a control token, or a text of some bytes") {
  const TinyCheckpoint checkpoint(5);
  const promptcache::Engine engine = open(checkpoint);
  const auto n = static_cast<std::int32_t>(engine.facts().vocab_size);
  int ends = 0;
  for (std::int32_t token = 0; token < n; ++token) {
    const pc_token_facts facts = engine.token(token);
    CHECK((facts.ends_turn != 0) == engine.ends_turn(token));
    CHECK((facts.is_control != 0) == (facts.n_bytes == 0));
    if (!facts.is_control) CHECK(facts.n_spelling == 0);
    ends += facts.ends_turn != 0;
  }
  CHECK(ends > 0);
  const pc_token_facts bos = engine.token(engine.facts().bos);
  CHECK(bos.is_control);
  CHECK(std::string(bos.spelling, bos.n_spelling) == "<s>");
}

TEST_CASE("what is no token is refused, and so is nowhere to write to") {
  const TinyCheckpoint checkpoint(5);
  const promptcache::Engine engine = open(checkpoint);
  for (const std::int32_t token : {-1, static_cast<std::int32_t>(engine.facts().vocab_size)})
    CHECK_THROWS_AS(engine.token(token), promptcache::Error);
  pc_error error{};
  CHECK(pc_engine_get_token(engine.get(), 0, nullptr, &error) == PC_INVALID_ARGUMENT);
  pc_token_facts facts{};
  CHECK(pc_engine_get_token(nullptr, 0, &facts, &error) == PC_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace pc::test
