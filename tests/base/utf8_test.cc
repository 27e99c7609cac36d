#include "base/utf8.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

using namespace pc;

namespace {

constexpr char32_t kLast = 0x10FFFF;
bool is_surrogate(char32_t c) {
  return c >= 0xD800 && c <= 0xDFFF;
}

// Decodes in pieces of the given sizes (the last one repeats).
std::string stream(std::string_view bytes, std::size_t piece) {
  Utf8Stream decoder;
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    decoder.append(bytes.substr(at, piece), &out);
    CHECK(is_utf8(out));
  }
  decoder.finish(&out);
  return out;
}

// By Unicode's table 3-6, and by nothing that is tested here.
std::string spelled(std::uint32_t c) {
  if (c < 0x80) return {static_cast<char>(c)};
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((c >> shift) & 0x3F)); };
  if (c < 0x800) return {static_cast<char>(0xC0 | (c >> 6)), tail(0)};
  if (c < 0x10000) return {static_cast<char>(0xE0 | (c >> 12)), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | (c >> 18)), tail(12), tail(6), tail(0)};
}

}  // namespace

TEST_CASE("every code point round-trips, and nothing else is valid") {
  for (char32_t c = 0; c <= kLast; ++c) {
    std::string text;
    utf8_append(c, &text);
    REQUIRE(text == spelled(c));
    if (is_surrogate(c)) {
      REQUIRE_FALSE(is_utf8(text));
      continue;
    }
    std::size_t at = 0;
    REQUIRE(is_utf8(text));
    REQUIRE(utf8_length(text[0]) == text.size());
    REQUIRE(utf8_next(text, &at) == c);
    REQUIRE(at == text.size());
    const std::string cut = text.substr(0, text.size() - 1);
    REQUIRE(utf8_valid_prefix(cut) == 0);
    REQUIRE(utf8_valid_prefix("a" + cut) == 1);
  }
}

TEST_CASE("ill-formed sequences stop the valid prefix where they start") {
  for (const char* bad :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFE", "\xFF", "\xE2\x96",
        "\xE2"
        "a"}) {
    CHECK(utf8_valid_prefix(bad) == 0);
    CHECK(utf8_valid_prefix(std::string("aé") + bad) == 3);
  }
  CHECK(is_utf8(""));
}

TEST_CASE("the stream replaces each maximal broken part once") {
  // The examples of the Unicode standard's table 3-8 and around it.
  CHECK(stream("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64", 1) ==
        "a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd");
  CHECK(stream("\xED\xA0\x80", 1) == "\uFFFD\uFFFD\uFFFD");
  CHECK(stream("\xF0\x9F\x98", 1) == "\uFFFD");
  CHECK(stream("\xF0\x9F\x98\x80", 1) == "😀");
}

TEST_CASE("the stream's result does not depend on how it was cut") {
  std::mt19937 random(1);
  const std::string alphabet = std::string("ab\xC2\xE0\xE2\xED\xF0\xF4\x80\x90\x9F\xA0\xBF\xFF");
  for (int i = 0; i < 20000; ++i) {
    std::string bytes;
    for (int n = 1 + static_cast<int>(random() % 12); n > 0; --n) {
      bytes.push_back(alphabet[random() % alphabet.size()]);
    }
    const std::string whole = stream(bytes, bytes.size());
    REQUIRE(stream(bytes, 1) == whole);
    REQUIRE(stream(bytes, 2) == whole);
    REQUIRE(stream(bytes, 5) == whole);
    if (is_utf8(bytes)) REQUIRE(whole == bytes);
  }
}

TEST_CASE("the stream holds back at most three bytes, and a whole character at once") {
  Utf8Stream decoder;
  std::string out;
  decoder.append("x\xF0\x9F", &out);
  CHECK(out == "x");
  CHECK(decoder.pending() == 2);
  decoder.append("\x98", &out);
  CHECK(decoder.pending() == 3);
  decoder.append("\x80y", &out);
  CHECK(out == "x😀y");
  CHECK(decoder.pending() == 0);
}

TEST_CASE("a file's text is quoted in one line") {
  CHECK(one_line("") == "");
  CHECK(one_line("é ▁ 😀") == "é ▁ 😀");
  CHECK(one_line("a\nb\tc\x7F") == "a?b?c?");
  CHECK(one_line("a\xFF"
                 "b\xE2\x96") == "a\uFFFDb\uFFFD");
}

TEST_CASE("white space at the ends of a text, as Unicode has it") {
  CHECK(trim_begin(" \t\n\u00a0\u2003\u3000a b ") == "a b ");
  CHECK(trim_end(" a b\u3000\u2028\r\n ") == " a b");
  CHECK(trim_begin("\u200ba") == "\u200ba");  // of no width is no white space
  CHECK(trim_end("日") == "日");
  CHECK(trim_begin(" \u1680 ").empty());
  CHECK(trim_end(" \u205f ").empty());
  CHECK(trim_end("").empty());
}
