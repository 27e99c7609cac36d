// Small GGUF vocabularies in memory.
#pragma once

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/json/json.h"
#include "runtime/tokenizer/files/gguf_tokenizer.h"
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

inline std::string repeated(const std::string& unit, std::size_t bytes) {
  std::string text;
  while (text.size() + unit.size() <= bytes) text += unit;
  return text;
}

}  // namespace pc::test
