// Small GGUF vocabularies in memory, and the time that work takes on a small stack.
#pragma once

#include <pthread.h>
#include <time.h>

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/gguf_tokenizer.h"
#include "runtime/json.h"
#include "tests/support/fixture.h"
#include "tests/support/gguf_bytes.h"

namespace pc::test {

inline std::unique_ptr<Tokenizer> take(Result<std::unique_ptr<Tokenizer>> tokenizer) {
  if (!tokenizer.ok()) FAIL(tokenizer.error().message);
  return std::move(tokenizer).value();
}

inline Result<std::unique_ptr<Tokenizer>> from_bytes(const GgufBytes& bytes) {
  const std::string file = bytes.file();
  const auto parsed = parse_gguf(std::as_bytes(std::span(file)), "t.gguf");
  if (!parsed.ok()) FAIL(parsed.error().message);
  return make_gguf_tokenizer(parsed->metadata);
}

inline JsonDocument read_golden(const std::string& name) {
  auto document = JsonDocument::read_file(golden("tokenizers/" + name));
  if (!document.ok()) FAIL(document.error().message);
  return std::move(document).value();
}

inline std::vector<std::string> strings(JsonView list) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < list.size(); ++i) out.emplace_back(*list.at(i).string());
  return out;
}

// ---- small files, with what a test changes

constexpr const char* kBlank = "▁";

struct Small {
  std::string model = "gpt2", pre = "gpt-2";
  std::vector<std::string> tokens = {"a",   "b",   "c",      "ab",        "Ġ",
                                     "<x>", "<y>", "[PAD7]", "<|eot_id|>"};
  std::vector<std::int32_t> types = {1, 1, 1, 1, 1, 3, 4, 5, 3};
  std::vector<std::string> merges = {"a b"};
  std::vector<float> scores;
  std::function<void(GgufBytes&)> more = [](GgufBytes&) {};

  GgufBytes bytes() const {
    GgufBytes out;
    out.string("tokenizer.ggml.model", model).string("tokenizer.ggml.pre", pre);
    out.strings("tokenizer.ggml.tokens", tokens).array("tokenizer.ggml.token_type", types);
    if (model == "gpt2") out.strings("tokenizer.ggml.merges", merges);
    if (!scores.empty()) out.array("tokenizer.ggml.scores", scores);
    more(out);
    return out;
  }
};

inline Small small_llama() {
  Small small;
  small.model = "llama";
  small.tokens = {"<unk>", "<s>", "</s>", "a", "b", "ab", kBlank, "▁a", "\n", "<|user|>"};
  small.types = {2, 3, 3, 1, 1, 1, 1, 1, 1, 3};
  small.scores = {0, 0, 0, -9, -9, -1, -9, -2, -9, 0};
  return small;
}

// Processor seconds of the work, on a thread with a stack of 256 KiB.
inline double seconds_on_small_stack(std::function<void()> work) {
  struct Job {
    std::function<void()> work;
    double seconds = 0;
  } job{std::move(work)};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 << 10);
  pthread_t thread;
  REQUIRE(pthread_create(
              &thread, &attributes,
              [](void* argument) -> void* {
                auto* j = static_cast<Job*>(argument);
                j->work();
                timespec spent;  // of this thread: the machine may be busy
                clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
                j->seconds =
                    static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) * 1e-9;
                return nullptr;
              },
              &job) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  return job.seconds;
}

inline std::string repeated(const std::string& unit, std::size_t bytes) {
  std::string text;
  while (text.size() + unit.size() <= bytes) text += unit;
  return text;
}

}  // namespace pc::test
