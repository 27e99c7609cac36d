// Published token ids: 47 texts with the ids that the models' own tokenizers
// give them (PC_SHARED_DIR/assets/tokenizers).
#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/json/json.h"
#include "runtime/tokenizer/files/tokenizer_loader.h"
#include "runtime/tokenizer/sentencepiece/sentencepiece_tokenizer.h"
#include "tests/support/fixture.h"
#include "tests/support/one_span.h"

using namespace pc;

namespace {

// "" with a printed message when the data is absent.
std::string assets() {
  const auto shared = test::shared_dir();
  return shared.empty() ? "" : (shared / "assets/tokenizers").string() + "/";
}

struct Vector {
  std::string text;
  Tokens ids;
};

std::vector<Vector> read_vectors(const std::string& stem) {
  const std::string texts = test::read_file(stem + ".inp"), separator = "\n__ggml_vocab_test__\n";
  std::istringstream ids(test::read_file(stem + ".out"));
  std::vector<Vector> out;
  // The file ends with a separator: the last text is empty, and so is its line.
  for (std::size_t at = 0; at <= texts.size();) {
    const std::size_t end = std::min(texts.find(separator, at), texts.size());
    Vector vector{texts.substr(at, end - at), {}};
    std::string line;
    std::getline(ids, line);
    std::istringstream numbers(line);
    for (TokenId id; numbers >> id;) vector.ids.push_back(id);
    out.push_back(std::move(vector));
    at = end + separator.size();
  }
  REQUIRE(out.size() == 47);
  return out;
}

void check_vectors(const Tokenizer& tokenizer, const std::string& stem) {
  for (const Vector& vector : read_vectors(stem)) {
    INFO("\"" << vector.text << "\"");
    const auto ids = tokenizer.encode(vector.text);
    REQUIRE(ids.ok());
    CHECK(*ids == vector.ids);
    std::string bytes;
    for (const TokenId id : *ids) tokenizer.append_bytes(id, &bytes);
    const bool prefix = tokenizer.facts().adds_prefix_space && !vector.text.empty();
    CHECK(bytes == (prefix ? " " : "") + vector.text);
  }
}

std::unique_ptr<Tokenizer> take(Result<std::unique_ptr<Tokenizer>> tokenizer) {
  if (!tokenizer.ok()) FAIL(tokenizer.error().message);
  return std::move(tokenizer).value();
}

void check_gguf(const std::string& model, const std::string& description) {
  const std::string folder = assets();
  if (folder.empty()) return;
  const std::string stem = folder + "ggml-vocab-" + model + ".gguf";
  const auto tokenizer = take(load_tokenizer(stem));
  CHECK(tokenizer->facts().description == description);
  check_vectors(*tokenizer, stem);
}

}  // namespace

TEST_CASE("Llama 2: sentencepiece") {
  const std::string folder = assets();
  if (folder.empty()) return;
  const auto tokenizer = take(load_sentencepiece_tokenizer(folder + "llama2-tokenizer.model", {}));
  CHECK(tokenizer->facts().description == "sentencepiece bpe, 32000 pieces");
  check_vectors(*tokenizer, folder + "ggml-vocab-llama-spm.gguf");
}

TEST_CASE("Llama 2: GGUF") {
  check_gguf("llama-spm", "sentencepiece bpe, 32000 pieces");
}

TEST_CASE("GPT-2: byte-level BPE") {
  check_gguf("gpt-2", "byte-level bpe, 50257 tokens");
}

TEST_CASE("MPT: GPT-2's pattern, and runs of spaces as added tokens") {
  check_gguf("mpt", "byte-level bpe, 50432 tokens");
}

TEST_CASE("Falcon: punctuation, bytes, then digits by three") {
  check_gguf("falcon", "byte-level bpe, 65024 tokens");
}

TEST_CASE("Llama 2's GGUF gives the ids of its tokenizer.model") {
  const std::string folder = assets();
  if (folder.empty()) return;
  const auto gguf = take(load_tokenizer(folder + "ggml-vocab-llama-spm.gguf"));
  const auto model = take(load_sentencepiece_tokenizer(folder + "llama2-tokenizer.model", {}));
  const auto same = [&](const std::string& text) {
    INFO("\"" << text << "\"");
    CHECK(test::same_encodings(*gguf, *model, text));
  };
  for (const Vector& vector : read_vectors(folder + "ggml-vocab-llama-spm.gguf")) same(vector.text);
  const auto texts = JsonDocument::read_file(test::golden("tokenizers/texts.json"));
  REQUIRE(texts.ok());
  for (std::size_t i = 0; i < texts->root().size(); ++i) {
    same(std::string(*texts->root().at(i).string()));
  }
  const auto facts = [](const Tokenizer& t) {
    return std::tuple(t.bos(), t.eos(), t.unk(), t.add_bos(), t.placeholder(), t.vocab_size());
  };
  CHECK(facts(*gguf) == facts(*model));
}
