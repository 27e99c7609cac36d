// Fuzzes the reader of tokenizer.json, and texts through what it accepts.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "runtime/tokenizer/bpe_tokenizer.h"
#include "tests/support/cut_spans.h"
#include "tests/support/one_span.h"

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

void check(const pc::Tokenizer& tokenizer, const pc::Result<pc::Tokens>& tokens) {
  if (!tokens.ok()) {
    require(!tokens.error().message.empty());
    return;
  }
  std::string bytes;
  for (const pc::TokenId id : *tokens) {
    require(id >= 0 && static_cast<std::uint32_t>(id) < tokenizer.vocab_size());
    tokenizer.append_bytes(id, &bytes, pc::Tokenizer::Controls::kSpell);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto document = pc::JsonDocument::parse(text, "fuzz");
  if (!document.ok()) return 0;
  pc::TokenizerConfig config;
  config.bos = "<s>";
  const auto tokenizer = pc::make_bpe_tokenizer(*document, config);
  if (!tokenizer.ok()) {
    require(!tokenizer.error().message.empty());
    return 0;
  }
  for (const char* sample : {"", " ", "The city's  harbour, 1234!\n\n", " ▁é日😀<s><|im_end|>",
                             "aaaaaaaaaaaaaaaaaaaaaaaa"}) {
    for (const auto& tokens : pc::test::encodings(**tokenizer, sample)) check(**tokenizer, tokens);
    for (const bool opens : {true, false}) pc::test::require_spans(**tokenizer, sample, opens);
  }
  return 0;
}
