// Characters that a vocabulary cannot spell, and has no unknown token for: left out, as Hugging
// Face's tokenizers does (ids by its version 0.23.3).
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "runtime/json/json.h"
#include "runtime/tokenizer/bpe/bpe_tokenizer.h"
#include "runtime/tokenizer/bpe/byte_level.h"
#include "tests/support/expect.h"
#include "tests/support/random.h"

namespace pc::test {
namespace {

// A token a byte in their order, but for 04 and F1, then "ab", "\u0120a" and "\u0120ab" (254 to
// 256).
std::unique_ptr<Tokenizer> without_two_bytes() {
  std::string vocab;
  int id = 0;
  for (int byte = 0; byte < 256; ++byte) {
    if (byte == 0x04 || byte == 0xF1) continue;
    const char c = static_cast<char>(byte);
    std::string piece;
    to_byte_level({&c, 1}, &piece);
    if (piece == "\"" || piece == "\\") piece = "\\" + piece;
    vocab += "\"" + piece + "\":" + std::to_string(id++) + ",";
  }
  const std::string json =
      R"({"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"use_regex":false},
    "model":{"type":"BPE","vocab":{)" +
      vocab + R"("ab":254,"\u0120a":255,"\u0120ab":256},
    "merges":["a b","\u0120 ab","\u0120 a"]}})";
  return must(make_bpe_tokenizer(must(JsonDocument::parse(json, "t.json")), {}));
}

TEST_CASE("what a vocabulary cannot spell is left out, and merges go on behind it") {
  const auto tokenizer = without_two_bytes();
  const auto ids = [&](const std::string& text) { return must(tokenizer->encode(text)); };
  CHECK(ids("a\x04"
            "b") == Tokens{254});
  CHECK(ids("\x04").empty());
  CHECK(ids("ab \x04"
            "ab") == Tokens{254, 256});
  CHECK(ids("\x04\x04 ab\x04") == Tokens{256});
  CHECK(ids("x\xF1\x90\x80\x80y") == Tokens{119, 143, 127, 127, 120});
}

TEST_CASE("a character that is left out is told") {
  const auto tokenizer = without_two_bytes();
  CHECK(tokenizer->unspelled("a\x04"
                             "b") == "\x04");
  CHECK(tokenizer->unspelled("a\xF1\x90\x80\x80") == "\xF1\x90\x80\x80");
  CHECK_FALSE(tokenizer->unspelled("abc \xC3\xA9 \xF0\x9F\x90\x89"));
}

TEST_CASE("spans around what is left out have the whole text's tokens") {
  const auto tokenizer = without_two_bytes();
  Random random(15);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> texts(random.between(1, 4));
    std::string whole, spelled;
    for (std::string& text : texts) {
      for (std::uint32_t i = random.below(6); i > 0; --i) text += "ab \x04"[random.below(4)];
      whole += text;
    }
    for (const char c : whole)
      if (c != '\x04') spelled += c;
    std::vector<pml::TextSpan> spans;
    for (const std::string& text : texts) spans.push_back({text, false});
    const std::vector<Tokens> parts = must(tokenizer->encode_spans(spans, true));
    Tokens joined;
    for (const Tokens& part : parts) joined.insert(joined.end(), part.begin(), part.end());
    INFO(whole);
    CHECK(joined == must(tokenizer->encode(spelled)));
    // A token is of the span in which it begins.
    std::string told, before;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      std::string here;
      for (const char c : before)
        if (c != '\x04') here += c;
      CHECK(told.size() >= here.size());  // no token that began before is missing there
      for (const TokenId token : parts[i]) {
        CHECK(told.size() < here.size() + texts[i].size() + 1);
        tokenizer->append_bytes(token, &told);
      }
      before += texts[i];
    }
  }
}

}  // namespace
}  // namespace pc::test
