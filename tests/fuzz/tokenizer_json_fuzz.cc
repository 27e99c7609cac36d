// Fuzzes the reader of tokenizer.json, and texts through what it accepts: fixed ones, and the one
// that follows it in the input (tests/support/tokenizer_fuzz.h).
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/tokenizer/bpe/bpe_tokenizer.h"
#include "tests/support/tokenizer_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = pc::test::split_input({reinterpret_cast<const char*>(data), size});
  const auto document = pc::JsonDocument::parse(input.tokenizer, "fuzz");
  if (!document.ok()) return 0;
  pc::TokenizerConfig config;
  config.bos = "<s>";
  const auto tokenizer = pc::make_bpe_tokenizer(*document, config);
  if (tokenizer.ok())
    pc::test::require_encodes_all(**tokenizer, input.text);
  else
    pc::test::require(!tokenizer.error().message.empty());
  return 0;
}
