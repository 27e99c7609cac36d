// How far a long text is, and leaving it: for every kind of tokenizer.

#include <string>
#include <vector>

#include "promptcache/promptcache.h"
#include "runtime/tokenizer/files/tokenizer_loader.h"
#include "tests/support/small_vocabulary.h"
#include "tests/support/tiny_checkpoint.h"

using namespace pc;
using namespace pc::test;

namespace {

struct Call {
  std::uint64_t done, total;
};

std::vector<Call> watch(const Tokenizer& tokenizer, const std::string& text) {
  std::vector<Call> calls;
  const auto look = [&](std::uint64_t done, std::uint64_t total) {
    calls.push_back({done, total});
    return true;
  };
  const auto watched = tokenizer.encode(text, look);
  REQUIRE(watched.ok());
  CHECK(*watched == *tokenizer.encode(text));
  return calls;
}

void check_kind(const std::string& file) {
  INFO(file);
  const auto tokenizer = take(load_tokenizer(golden("tokenizers/" + file)));
  // Too long to be remembered: each call tokenises it.
  const std::string words =
      repeated("The tram of Vienna is late. ", RememberedStretches::kMaxBytes / 8);
  const auto calls = watch(*tokenizer, words);
  REQUIRE(calls.size() >= 4);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    CHECK(calls[i].total == words.size());
    CHECK(calls[i].done <= calls[i].total);
    if (i > 0) CHECK(calls[i].done >= calls[i - 1].done);
  }
  CHECK(calls.back().done > words.size() / 2);
  CHECK(watch(*tokenizer, "short").empty());

  // Left at any call; and as good as before.
  for (std::size_t leave = 1; leave <= calls.size(); leave += 9) {
    std::size_t n = 0;
    const auto stop = [&](std::uint64_t, std::uint64_t) { return ++n < leave; };
    const auto left = tokenizer->encode(words, stop);
    REQUIRE_FALSE(left.ok());
    CHECK(left.error().code == Code::kCancelled);
    CHECK(left.error().message.find("of " + std::to_string(words.size()) + " bytes") !=
          std::string::npos);
    CHECK(n == leave);
  }
  CHECK(watch(*tokenizer, words).size() == calls.size());
}

}  // namespace

TEST_CASE("long texts tell how far they are, and can be left") {
  // BPE over bytes, sentencepiece's BPE in a GGUF, tokenizer.json, and the sentencepiece library.
  for (const char* file : {"llama3/vocab.gguf", "sentencepiece_bpe/vocab.gguf", "llama3", "gemma"})
    check_kind(file);
}

TEST_CASE("one word of a long text is left in its middle") {
  const auto tokenizer = take(load_tokenizer(golden("tokenizers/llama3/vocab.gguf")));
  const std::string word = repeated("thetramis", 300'000);
  std::uint64_t n = 0, done = 1;
  const auto stop = [&](std::uint64_t bytes, std::uint64_t) {
    done = bytes;
    return ++n < 4;
  };
  const auto left = tokenizer->encode(word, stop);
  REQUIRE_FALSE(left.ok());
  CHECK(left.error().code == Code::kCancelled);
  CHECK(n == 4);
  CHECK(done == 0);
}

TEST_CASE("every call of the API that tokenises a long text is left when its engine is told so") {
  const TinyCheckpoint checkpoint(3);
  struct Watcher {
    int n = 0, leave = 0;  // 0: stays
  } watcher;
  pc_engine_options options;
  pc_engine_options_init(&options);
  options.model_path = checkpoint.path().c_str();
  options.cache_mode = PC_CACHE_OFF;
  options.n_threads = 1;
  options.text_progress_user = &watcher;
  options.text_progress = [](void* user, std::uint64_t, std::uint64_t) {
    auto* const w = static_cast<Watcher*>(user);
    return static_cast<int>(++w->n == w->leave);
  };
  pc_engine* engine = nullptr;
  pc_error error{};
  REQUIRE(pc_engine_open(&options, &engine, &error) == PC_OK);
  CHECK(watcher.n == 0);

  const std::string text = repeated("the tram is late. ", 200'000);
  std::size_t n_tokens = 0;
  const auto tokenize = [&] {
    return pc_tokenize(engine, text.data(), text.size(), nullptr, 0, &n_tokens, &error);
  };
  CHECK(tokenize() == PC_OK);
  CHECK(watcher.n > 0);
  watcher = {.leave = 1};
  CHECK(tokenize() == PC_CANCELLED);
  CHECK(std::string(error.message).find("tokenising was cancelled") != std::string::npos);

  const std::string pml = "<schema name='s'><module name='m'>" + text + "</module></schema>";
  pc_schema* schema = nullptr;
  watcher = {.leave = 1};
  CHECK(pc_schema_parse(engine, pml.data(), pml.size(), nullptr, &schema, &error) == PC_CANCELLED);
  CHECK(schema == nullptr);

  REQUIRE(pc_schema_parse(engine, "<schema name='s'/>", PC_NUL_TERMINATED, nullptr, &schema,
                          &error) == PC_OK);
  pc_prompt* prompt = nullptr;
  const std::string asked = "<prompt schema='s'>" + text + "</prompt>";
  watcher = {.leave = 1};
  CHECK(pc_prompt_parse(schema, asked.data(), asked.size(), &prompt, &error) == PC_CANCELLED);
  CHECK(prompt == nullptr);
  pc_schema_close(schema);
  pc_engine_close(engine);
}
