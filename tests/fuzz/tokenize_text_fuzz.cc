// Fuzzes encoding: any bytes through the small tokenizers of tests/golden, whole and
// cut into spans, and the same bytes through the decoder of streams in pieces.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "runtime/tokenizer/files/tokenizer_loader.h"
#include "tests/support/cut_spans.h"
#include "tests/support/one_span.h"

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

struct Case {
  std::unique_ptr<pc::Tokenizer> tokenizer;
  bool lossless;  // byte-level without a normalizer: a text comes back as it was
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> out;
    for (const std::string name : {"llama3", "smollm2", "qwen2", "strips", "metaspace", "prepend",
                                   "gemma", "sentencepiece_bpe", "sentencepiece_unigram"}) {
      auto tokenizer = pc::load_tokenizer(std::string(std::getenv("PC_SOURCE_DIR")) +
                                          "/tests/golden/tokenizers/" + name);
      require(tokenizer.ok());
      out.push_back({std::move(tokenizer).value(), name == "llama3" || name == "smollm2"});
    }
    return out;
  }();
  return all;
}

std::string in_pieces(std::string_view bytes, std::size_t n) {
  pc::Utf8Stream stream;
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += n) {
    stream.append(bytes.substr(at, n), &out);
    require(stream.pending() <= 3);
  }
  stream.finish(&out);
  require(pc::is_utf8(out));
  return out;
}

// A token's first byte lies in its span.
void check_division(const Case& c, std::string_view text) {
  const auto spans = pc::test::cut_spans(text, false);
  const auto tokens = c.tokenizer->encode_spans(spans, true);
  std::size_t begin = 0, at = 0;  // of the span, of the token
  for (std::size_t i = 0; i < spans.size(); begin += spans[i++].text.size()) {
    for (const pc::TokenId id : (*tokens)[i]) {
      require(at >= begin && at < begin + spans[i].text.size());
      std::string bytes;
      c.tokenizer->append_bytes(id, &bytes);
      at += bytes.size();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data),
                              std::min<std::size_t>(size, 4096));
  const bool valid = pc::is_utf8(text);
  const std::string whole = in_pieces(text, 4096);
  require(in_pieces(text, 1) == whole && in_pieces(text, 3) == whole);
  require(!valid || whole == text);
  for (const Case& c : cases()) {
    if (valid) pc::test::require_spans(*c.tokenizer, text, size % 2 == 0);
    if (valid && c.lossless) check_division(c, text);
    for (const auto& tokens : pc::test::encodings(*c.tokenizer, text)) {
      require(tokens.ok() == valid);
      if (!valid) continue;
      std::string bytes;
      for (const pc::TokenId id : *tokens) {
        require(id >= 0 && static_cast<std::uint32_t>(id) < c.tokenizer->vocab_size());
        c.tokenizer->append_bytes(id, &bytes, pc::Tokenizer::Controls::kSpell);
      }
      require(!c.lossless || bytes == text);
    }
  }
  return 0;
}
