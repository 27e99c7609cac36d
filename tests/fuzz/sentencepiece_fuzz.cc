// Fuzzes the reading of tokenizer.model: what our own check lets through, the
// sentencepiece library must load or refuse, and encode with.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "runtime/tokenizer/sentencepiece_tokenizer.h"
#include "tests/support/cut_spans.h"
#include "tests/support/one_span.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto tokenizer = pc::make_sentencepiece_tokenizer(bytes, "fuzz", {});
  if (!tokenizer.ok()) return 0;
  for (const char* sample :
       {"", " ", "The city's  harbour, 1234!\n", " ▁é日😀<s><|sep|>ﬁ e\u0301"}) {
    for (const bool opens : {true, false}) pc::test::require_spans(**tokenizer, sample, opens);
    for (const auto& tokens : pc::test::encodings(**tokenizer, sample)) {
      if (!tokens.ok()) continue;
      std::string out;
      for (const pc::TokenId id : *tokens) {
        if (id < 0 || static_cast<std::uint32_t>(id) >= (*tokenizer)->vocab_size()) std::abort();
        (*tokenizer)->append_bytes(id, &out);
      }
    }
  }
  return 0;
}
