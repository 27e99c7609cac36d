// Fuzzes tokenizers out of GGUF files: a vocabulary that is accepted must encode
// within its own ids, and one that is refused must say so in one line.
//
// An input is read twice: as a file, which few mutations leave sound, and as the
// tokens of one, a line each, behind a byte for the type and one for the score. A text
// may follow in both (tests/support/tokenizer_fuzz.h).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/gguf.h"
#include "runtime/tokenizer/files/gguf_tokenizer.h"
#include "tests/support/gguf_bytes.h"
#include "tests/support/tokenizer_fuzz.h"

namespace {

using pc::test::require;

bool is_id(const pc::Tokenizer& tokenizer, pc::TokenId id) {
  return id >= 0 && static_cast<std::uint32_t>(id) < tokenizer.vocab_size();
}

void check_facts(const pc::Tokenizer& tokenizer) {
  for (const auto& id : {tokenizer.bos(), tokenizer.eos(), tokenizer.unk()}) {
    require(!id || is_id(tokenizer, *id));
  }
  for (const pc::TokenId id : tokenizer.facts().turn_ends) require(is_id(tokenizer, id));
  require(is_id(tokenizer, tokenizer.placeholder()));
  require(!tokenizer.add_bos() || tokenizer.bos().has_value());
}

// Bytes without a normaliser: a text comes back as it was.
bool is_lossless(const pc::GgufMetadata& metadata) {
  const auto model = metadata.string("tokenizer.ggml.model");
  const auto rules = metadata.string("tokenizer.ggml.pre");
  return model.ok() && *model == "gpt2" && rules.ok() &&
         (*rules == "llama-bpe" || *rules == "falcon");
}

void read_file(std::span<const std::byte> bytes, std::string_view text) {
  const auto file = pc::parse_gguf(bytes, "fuzz");
  if (!file.ok()) return;
  const auto tokenizer = pc::make_gguf_tokenizer(file->metadata);
  if (!tokenizer.ok()) {
    require(tokenizer.error().message.starts_with("fuzz: "));
    require(tokenizer.error().message.find('\n') == std::string::npos);
    return;
  }
  check_facts(**tokenizer);
  pc::test::require_encodes_all(**tokenizer, text, is_lossless(file->metadata));
}

std::string file_of_lines(std::string_view lines, bool is_llama) {
  std::vector<std::string> tokens, merges;
  std::vector<std::int32_t> types;
  std::vector<float> scores;
  const auto add = [&](std::string_view token, int type, int score) {
    tokens.emplace_back(token);
    types.push_back(type);
    scores.push_back(static_cast<float>(score));
  };
  add("<unk>", 2, 0);
  while (!lines.empty() && tokens.size() < 512) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    if (line.size() < 3) continue;
    add(line.substr(2), 1 + static_cast<unsigned char>(line[0]) % 6, line[1]);
    const std::size_t middle = 2 + (line.size() - 2) / 2;
    if (line[0] % 6 == 0 && line.size() > 3)
      merges.push_back(std::string(line.substr(2, middle - 2)) + " " +
                       std::string(line.substr(middle)));
  }
  pc::test::GgufBytes file;
  file.string("tokenizer.ggml.model", is_llama ? "llama" : "gpt2");
  file.string("tokenizer.ggml.pre", tokens.size() % 2 == 0 ? "llama-bpe" : "falcon");
  file.strings("tokenizer.ggml.tokens", tokens).array("tokenizer.ggml.token_type", types);
  file.array("tokenizer.ggml.scores", scores).strings("tokenizer.ggml.merges", merges);
  file.value("tokenizer.ggml.eos_token_id", static_cast<std::uint32_t>(tokens.size() / 2));
  return file.file();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = pc::test::split_input({reinterpret_cast<const char*>(data), size});
  read_file(std::as_bytes(std::span(input.tokenizer)), input.text);
  for (const bool is_llama : {false, true}) {
    const std::string file = file_of_lines(input.tokenizer, is_llama);
    read_file(std::as_bytes(std::span(file)), input.text);
  }
  return 0;
}
