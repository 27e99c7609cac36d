#include "runtime/tokenizer/bpe/pretokenizer.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace pc;

namespace {

Result<Pretokenizer> make(const std::string& json) {
  const auto document = JsonDocument::parse("{\"p\":" + json + "}", "t.json");
  if (!document.ok()) FAIL(document.error().message);
  return Pretokenizer::from_json(document->root().find("p"));
}

std::vector<std::string> split(const std::string& json, std::string text, bool with_prefix = true) {
  const auto pretokenizer = make(json);
  if (!pretokenizer.ok()) FAIL(pretokenizer.error().message);
  const auto words = pretokenizer->split(std::move(text), with_prefix);
  REQUIRE(words.ok());
  std::vector<std::string> out;
  std::size_t begin = 0;
  for (const std::uint32_t end : words->ends) {
    out.push_back(words->text.substr(begin, end - begin));
    begin = end;
  }
  CHECK(begin == words->text.size());
  return out;
}

using List = std::vector<std::string>;

}  // namespace

TEST_CASE("each rule splits as its publisher says") {
  CHECK(split("null", "a b") == List{"a b"});
  CHECK(split("null", "").empty());
  CHECK(split(R"({"type":"ByteLevel","add_prefix_space":false})", "I'm  é1") ==
        List{"I", "'m", "Ġ", "ĠÃ©", "1"});
  CHECK(split(R"({"type":"ByteLevel","add_prefix_space":true})", "a") == List{"Ġa"});
  CHECK(split(R"({"type":"ByteLevel","add_prefix_space":true})", " a") == List{"Ġa"});
  CHECK(split(R"({"type":"ByteLevel","add_prefix_space":true})", "a", false) == List{"a"});
  CHECK(split(R"({"type":"ByteLevel","add_prefix_space":true,"use_regex":false})", "a b") ==
        List{"ĠaĠb"});
  CHECK(split(R"({"type":"Digits","individual_digits":true})", "a12") == List{"a", "1", "2"});
  CHECK(split(R"({"type":"Digits"})", "a12b") == List{"a", "12", "b"});
  CHECK(split(R"({"type":"Punctuation"})", "a,$b") == List{"a", ",", "$", "b"});
  CHECK(split(R"({"type":"Punctuation","behavior":"Contiguous"})", "a,$b") == List{"a", ",$", "b"});
  CHECK(split(R"({"type":"Split","pattern":{"String":"a.c"},"behavior":"Isolated"})", "abca.cx") ==
        List{"abc", "a.c", "x"});
  CHECK(split(R"({"type":"Split","pattern":{"Regex":"[a-c]+"},"behavior":"Removed","invert":true})",
              "ab-c") == List{"ab", "c"});
  CHECK(split(R"({"type":"Split","pattern":{"String":" "},"behavior":"MergedWithPrevious"})",
              "a b  c") == List{"a ", "b ", " ", "c"});
  CHECK(split(R"({"type":"Metaspace"})", "a b  c") == List{"▁a", "▁b", "▁", "▁c"});
  CHECK(split(R"({"type":"Metaspace","split":false})", "a b") == List{"▁a▁b"});
  CHECK(split(R"({"type":"Metaspace"})", " a") == List{"▁a"});
  CHECK(split(R"({"type":"Metaspace"})", "▁a") == List{"▁a"});
  CHECK(split(R"({"type":"Metaspace","prepend_scheme":"never"})", "a b") == List{"a", "▁b"});
  CHECK(split(R"({"type":"Metaspace","add_prefix_space":false})", "a") == List{"a"});
  CHECK(split(R"({"type":"Metaspace"})", "a", false) == List{"a"});
}

TEST_CASE("white space is Unicode's") {
  const std::string spaces = R"({"type":"Split","pattern":{"Regex":"\\s"},"behavior":"Isolated"})";
  for (const char* space : {" ", "\t", "\v", "\u0085", "\u00a0", "\u2003", "\u2028", "\u3000"}) {
    CHECK(split(spaces, std::string("a") + space + "b").size() == 3);
  }
  for (const char* other : {"\u180e", "\u200b", "\ufeff", "\x1f"}) {
    CHECK(split(spaces, std::string("a") + other + "b").size() == 1);
  }
  CHECK(split(R"({"type":"Split","pattern":{"Regex":"\\S+"},"behavior":"Isolated"})", "a\u180e b")
            .size() == 3);
  // An escaped backslash is not the start of \s.
  CHECK(split(R"({"type":"Split","pattern":{"Regex":"\\\\s"},"behavior":"Isolated"})", "a\\sb s")
            .size() == 3);
}

TEST_CASE("a rule that is not known is an error that names field and type") {
  const auto message = [](const std::string& json) {
    const auto pretokenizer = make(json);
    REQUIRE_FALSE(pretokenizer.ok());
    return pretokenizer.error().message;
  };
  CHECK(
      message(R"({"type":"Sequence","pretokenizers":[{"type":"Digits"},{"type":"Whitespace"}]})") ==
      "t.json: $.p.pretokenizers[1]: type \"Whitespace\" is not supported; ByteLevel, Split, "
      "Digits, Punctuation, Metaspace or a Sequence of them is");
  CHECK(message(R"({"type":"Split","pattern":{"String":"x"},"behavior":"MergedWithNext"})") ==
        "t.json: $.p: behavior \"MergedWithNext\" is not supported; Isolated, "
        "MergedWithPrevious, or Removed with invert, is");
  CHECK(message(R"({"type":"Split","pattern":{"Regex":"("},"behavior":"Isolated"})") ==
        "t.json: $.p.pattern.Regex: the pattern cannot be compiled: missing closing parenthesis");
  CHECK(message(R"({"type":"Split","pattern":"x","behavior":"Isolated"})") ==
        "t.json: $.p.pattern: is string, wanted an object");
  CHECK(message(R"({"type":"Metaspace","prepend_scheme":"last"})") ==
        "t.json: $.p: prepend_scheme \"last\" is not supported; always, first or never is");
  for (const char* json :
       {R"({"type":"Sequence","pretokenizers":[{"type":"Digits"},{"type":"ByteLevel"}]})",
        R"({"type":"Sequence","pretokenizers":[{"type":"Digits"},{"type":"Metaspace"}]})",
        R"({"type":"Split","pattern":{"Regex":""},"behavior":"Isolated"})", R"({})", R"([])",
        "7"}) {
    CHECK_FALSE(make(json).ok());
  }
}

TEST_CASE("a pattern that never ends its work is an error, not a wait") {
  const auto pretokenizer =
      make(R"re({"type":"Split","pattern":{"Regex":"(x+x+)+[yz]"},"behavior":"Isolated"})re");
  REQUIRE(pretokenizer.ok());
  const auto words = pretokenizer->split(std::string(5000, 'x'), false);
  REQUIRE_FALSE(words.ok());
  CHECK(words.error().code == Code::kUnsupported);
}

// Everything a rule does to a text's length: bytes become characters, spaces become marks,
// a prefix comes in front, what no pattern matches is left out.
TEST_CASE("cuts move with what they cut") {
  const auto moved = [](const std::string& json, std::string text, std::vector<std::size_t> cuts) {
    const auto pretokenizer = make(json);
    if (!pretokenizer.ok()) FAIL(pretokenizer.error().message);
    const auto words = pretokenizer->split(std::move(text), true, cuts);
    REQUIRE(words.ok());
    List parts;
    std::size_t begin = 0;
    cuts.push_back(words->text.size());
    for (const std::size_t cut : cuts) {
      parts.push_back(words->text.substr(begin, cut - begin));
      begin = cut;
    }
    return parts;
  };
  CHECK(moved(R"({"type":"ByteLevel","add_prefix_space":false})", "a é日b", {1, 2, 4, 7}) ==
        List{"a", "Ġ", "Ã©", "æĹ¥", "b"});
  CHECK(moved(R"({"type":"ByteLevel"})", "aé", {1}) == List{"Ġa", "Ã©"});
  CHECK(moved(R"({"type":"Metaspace"})", "a b▁ c", {1, 2, 3, 6, 7}) ==
        List{"▁a", "▁", "b", "▁", "▁", "c"});
  CHECK(moved(R"({"type":"Split","pattern":{"Regex":"[a-z]+"},"behavior":"Removed","invert":true})",
              "ab12cd3e", {1, 3, 5, 7}) == List{"a", "b", "c", "d", "e"});
}
