#include "runtime/tokenizer/text/text_stream.h"

#include <catch2/catch.hpp>

#include "runtime/tokenizer/files/tokenizer_loader.h"
#include "tests/support/fixture.h"
#include "tests/support/random.h"

namespace pc {
namespace {

std::unique_ptr<Tokenizer> tokenizer(const std::string& name) {
  auto loaded = load_tokenizer(test::golden("tokenizers/" + name));
  REQUIRE(loaded.ok());
  return std::move(loaded).value();
}

struct Streamed {
  std::string text;
  bool stopped = false;
  std::int32_t stop = -1;
};

Streamed stream(const Tokenizer& tokenizer, const Tokens& tokens,
                const std::vector<std::string>& stop, pml::Begins begins = pml::Begins::kOwnText) {
  TextStream text(tokenizer, stop, begins);
  Streamed out;
  for (const TokenId token : tokens) {
    out.stopped = text.push(token);
    out.stop = text.stop();
    REQUIRE(is_utf8(text.text()));  // never half a character
    out.text += text.text();
    if (out.stopped) return out;
  }
  text.finish();
  out.text += text.text();
  return out;
}

const std::string kText = "Hello wörld, 東京 is 🗼 far; STOP here or there.";

TEST_CASE("streamed text is the text, whole characters at a time") {
  for (const char* name : {"sentencepiece_bpe", "llama3"}) {
    const auto t = tokenizer(name);
    const auto tokens = t->encode(kText);
    REQUIRE(tokens.ok());
    REQUIRE(stream(*t, *tokens, {}).text == kText);
  }
}

TEST_CASE("a stop string ends the text, wherever tokens cut it, and is not part of it") {
  const auto t = tokenizer("llama3");
  const auto tokens = t->encode(kText);
  REQUIRE(tokens.ok());
  for (std::size_t begin = 0; begin < kText.size(); ++begin) {
    for (std::size_t n = 1; n <= 6 && begin + n <= kText.size(); ++n) {
      const std::string stop = kText.substr(begin, n);
      if (!is_utf8(stop)) continue;
      const Streamed out = stream(*t, *tokens, {"never there", "", stop});
      INFO("stop \"" << stop << "\"");
      REQUIRE(out.stopped);
      REQUIRE(out.stop == 2);
      REQUIRE(out.text == kText.substr(0, kText.find(stop)));
    }
  }
}

TEST_CASE("of several stop strings the first in the text counts, then the first that was given") {
  for (const char* name : {"sentencepiece_bpe", "llama3"}) {
    const auto t = tokenizer(name);
    const auto tokens = t->encode(kText);
    REQUIRE(tokens.ok());
    REQUIRE(stream(*t, *tokens, {}).stop == -1);
    // One of more than a token, that ends before the others begin.
    REQUIRE(stream(*t, *tokens, {"STOP", "wörld,", "there"}).stop == 1);
    // Two that begin alike: the shorter is complete first, unless one token completes both.
    REQUIRE(stream(*t, *tokens, {"東京 is", "東"}).stop == 1);
    const TokenId whole = tokens->front();
    REQUIRE(stream(*t, {whole}, {"never", "e", "H", "He"}).stop == 2);
  }
}

TEST_CASE("what only looks like the beginning of a stop string is not lost") {
  const auto t = tokenizer("llama3");
  const auto tokens = t->encode("aSTaSTOaST");
  REQUIRE(tokens.ok());
  REQUIRE(stream(*t, *tokens, {"STOP"}).text == "aSTaSTOaST");
}

TEST_CASE("random bytes as tokens come out as valid text") {
  const auto t = tokenizer("sentencepiece_bpe");
  test::Random random(5);
  for (int round = 0; round < 200; ++round) {
    Tokens tokens;
    for (int i = 0; i < 12; ++i)
      tokens.push_back(static_cast<TokenId>(random.below(t->vocab_size())));
    stream(*t, tokens, {"ab"});
  }
}

}  // namespace
}  // namespace pc
