// Hostile texts and files: tokenizing is linear in the text, and takes little stack.
#include <string>
#include <vector>

#include "runtime/checkpoint/gguf.h"
#include "runtime/tokenizer/bpe/bpe_tokenizer.h"
#include "runtime/tokenizer/files/tokenizer_loader.h"
#include "tests/support/cpu_seconds.h"
#include "tests/support/one_span.h"
#include "tests/support/small_vocabulary.h"

using namespace pc;
using namespace pc::test;

// Of what a machine does in the seconds that a test allows.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG) || \
    defined(PC_EMULATED)
constexpr std::size_t kFewer = 16;
#else
constexpr std::size_t kFewer = 1;
#endif

TEST_CASE("a large template over a large vocabulary of markup") {
  Small small = small_llama();
  for (std::size_t i = 0; i < 30000; ++i) {
    small.tokens.push_back("<" + std::to_string(i) + ">");
    small.types.push_back(4);
    small.scores.push_back(-1);
  }
  small.more = [](GgufBytes& out) {
    out.string("tokenizer.chat_template", "<29999>" + std::string((1 << 20) - 7, '<'));
  };
  const GgufBytes bytes = small.bytes();
  std::unique_ptr<Tokenizer> tokenizer;
  CHECK(seconds_on_small_stack([&] { tokenizer = take(from_bytes(bytes)); }) < 2.0);
  CHECK(*markup_span(*tokenizer, "<29999>") == Tokens{30009});
  CHECK(*tokenizer->encode("<29998>") == Tokens{6, 30008});
}

// White space that one token swallows and another is found in; a border at every byte.
TEST_CASE("1 MiB in spans of one byte, and in white space that is swallowed") {
  const auto json =
      JsonDocument::parse(R"({"model":{"type":"BPE","vocab":{"a":0," ":1},"merges":[]},
      "added_tokens":[{"id":1,"content":" ","lstrip":true,"rstrip":true},
                      {"id":2,"content":"<s>","special":true,"rstrip":true}]})",
                          "t.json");
  REQUIRE(json.ok());
  const auto tokenizer = take(make_bpe_tokenizer(*json, {}));
  constexpr std::size_t kBytes = (1 << 20) / kFewer;
  for (const char* unit : {" ", "a"}) {
    const std::string text = repeated(unit, kBytes);
    std::vector<pml::TextSpan> spans;
    for (std::size_t i = 0; i < text.size(); ++i)
      spans.push_back({std::string_view(text).substr(i, 1)});
    std::size_t n = 0;
    CHECK(seconds_on_small_stack([&] { n = tokenizer->encode_spans(spans, true)->size(); }) < 2.0);
    CHECK(n == spans.size());
  }
}

// Every place of the text is the beginning of all of them, and of none.
TEST_CASE("added tokens that nearly match everywhere") {
  std::string added;
  for (int n = 1; n < static_cast<int>(kMaxTextTokenBytes); ++n)
    added += ",{\"id\":" + std::to_string(n + 1) + ",\"content\":\"" + std::string(n, 'a') + "b\"}";
  const auto json = JsonDocument::parse(
      R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[]},"added_tokens":[)" + added.substr(1) +
          "]}",
      "t.json");
  REQUIRE(json.ok());
  const auto tokenizer = take(make_bpe_tokenizer(*json, {}));
  const std::string text((1 << 15) / kFewer, 'a');
  std::size_t n = 0;
  CHECK(seconds_on_small_stack([&] { n = tokenizer->encode(text)->size(); }) < 1.0);
  CHECK(n == text.size());
}

// A 32nd of a mebibyte for all kinds and units, and the whole for one unit of
// each kind in turn, shows that the work is linear.
TEST_CASE("1 MiB of any kind of text takes under two seconds on a small stack") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG) || \
    defined(PC_EMULATED)
  constexpr std::size_t kSlower = 16;
#else
  constexpr std::size_t kSlower = 1;
#endif
  const std::vector<std::string> units = {
      "a",      "A", "1",  " ",      "\n",           "\t",
      "!",      "'", "日", "\u0301", "\u0323\u0301", "😀",
      "\u200d", "½", "<|", "\r\n",   " 1",           "aB1 !\n日\u0301😀",
      "A\u0301"};
  const auto check = [](const std::string& kind, const Tokenizer& tokenizer,
                        const std::string& text, double limit) {
    bool ok = false;
    const double seconds = seconds_on_small_stack([&] { ok = tokenizer.encode(text).ok(); });
    INFO(kind << ", " << text.size() << " bytes of \"" << text.substr(0, 8) << "\"");
    CHECK(ok);
    CHECK(seconds < limit);
  };
  std::size_t turn = 0;
  const auto check_all = [&](const std::string& kind, const Tokenizer& tokenizer) {
    for (const std::string& unit : units) {
      check(kind, tokenizer, repeated(unit, (1 << 15) / kSlower), 0.25);
    }
    // Runs that end in something else: what a look ahead has gone over once more.
    for (const char* unit : {" ", "\t", "A", "!", "\u0301"}) {
      for (const char* tail : {"1", "x", "!"}) {
        check(kind, tokenizer, repeated(unit, (1 << 15) / kSlower) + tail, 0.25);
      }
    }
    const std::string& unit = units[turn++ % units.size()];
    check(kind, tokenizer, repeated(unit, (1 << 20) / kSlower) + "1", 2.0);
  };
  const auto splits = read_golden("splits.json");
  const JsonView rules = *splits.root().member("rules");
  // The words of one vocabulary, cut by every rule.
  const auto file = open_gguf(golden("tokenizers/llama3/vocab.gguf"));
  REQUIRE(file.ok());
  const auto tokens = *file->metadata.strings("tokenizer.ggml.tokens");
  const auto merges = *file->metadata.strings("tokenizer.ggml.merges");
  Small small;
  small.tokens.assign(tokens.begin(), tokens.end());
  small.types.assign(tokens.size(), 1);
  small.merges.assign(merges.begin(), merges.end());
  for (std::size_t r = 0; r < rules.size(); ++r) {
    small.pre = strings(*rules.at(r).member("names")).front();
    const auto tokenizer = take(from_bytes(small.bytes()));
    check_all(small.pre, *tokenizer);
  }
  const auto llama = take(load_tokenizer(golden("tokenizers/sentencepiece_bpe/vocab.gguf")));
  check_all("llama", *llama);
}
