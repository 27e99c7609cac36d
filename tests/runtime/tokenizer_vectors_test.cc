// Published token ids: 47 texts with the ids that the models' own tokenizers
// give them (PC_SHARED_DIR/assets/tokenizers).
#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/bpe_tokenizer.h"
#include "runtime/sentencepiece_tokenizer.h"
#include "tests/support/fixture.h"
#include "tests/support/gguf_vocab.h"

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

void check_byte_level(const std::string& model, const std::string& pre_tokenizer) {
  const std::string folder = assets();
  if (folder.empty()) return;
  const std::string stem = folder + "ggml-vocab-" + model + ".gguf";
  const auto json = JsonDocument::parse(
      test::to_tokenizer_json(test::GgufReader(stem).read(), pre_tokenizer), model);
  REQUIRE(json.ok());
  const auto tokenizer = make_bpe_tokenizer(*json, {});
  if (!tokenizer.ok()) FAIL(tokenizer.error().message);
  check_vectors(**tokenizer, stem);
}

}  // namespace

TEST_CASE("Llama 2: sentencepiece") {
  const std::string folder = assets();
  if (folder.empty()) return;
  const auto tokenizer = load_sentencepiece_tokenizer(folder + "llama2-tokenizer.model", {});
  if (!tokenizer.ok()) FAIL(tokenizer.error().message);
  CHECK((*tokenizer)->facts().description == "sentencepiece bpe, 32000 pieces");
  check_vectors(**tokenizer, folder + "ggml-vocab-llama-spm.gguf");
}

TEST_CASE("GPT-2: byte-level BPE") {
  check_byte_level("gpt-2", R"({"type":"ByteLevel","add_prefix_space":false})");
}

TEST_CASE("MPT: GPT-2's pattern, and runs of spaces as added tokens") {
  check_byte_level("mpt", R"({"type":"ByteLevel","add_prefix_space":false})");
}

TEST_CASE("Falcon: punctuation, bytes, then digits by three") {
  check_byte_level("falcon", R"({"type":"Sequence","pretokenizers":[
    {"type":"Punctuation","behavior":"Contiguous"},
    {"type":"ByteLevel","add_prefix_space":false},
    {"type":"Digits","individual_digits":false},
    {"type":"Split","pattern":{"Regex":"[0-9][0-9][0-9]"},"behavior":"Isolated","invert":false}]})");
}
