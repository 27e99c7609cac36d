// Fuzzes the reading of tokenizer.model: what our own check lets through, the sentencepiece library
// must load or refuse, and encode with: fixed texts, and the one that follows it in the input
// (tests/support/tokenizer_fuzz.h).
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/tokenizer/sentencepiece/sentencepiece_tokenizer.h"
#include "tests/support/tokenizer_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = pc::test::split_input({reinterpret_cast<const char*>(data), size});
  const auto tokenizer = pc::make_sentencepiece_tokenizer(input.tokenizer, "fuzz", {});
  if (tokenizer.ok())
    pc::test::require_encodes_all(**tokenizer, input.text);
  else
    pc::test::require(!tokenizer.error().message.empty());
  return 0;
}
