#include "tools/output/word_wrap.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/support/random.h"

using namespace pc::cli;

namespace {

std::string wrapped(const std::string& text, std::size_t columns) {
  WordWrap wrap(columns);
  std::string shown = wrap.add(text);
  return shown + wrap.end();
}

}  // namespace

TEST_CASE("lines break where words end, and words that are longer than a line do not") {
  CHECK(wrapped("one two three", 8) == "one two\nthree");
  CHECK(wrapped("one two three", 7) == "one two\nthree");
  CHECK(wrapped("one two", 7) == "one two");
  CHECK(wrapped("a characteristically b", 6) == "a\ncharacteristically\nb");
  CHECK(wrapped("\xC3\xA9t\xC3\xA9 \xC3\xA9t\xC3\xA9", 7) == "\xC3\xA9t\xC3\xA9 \xC3\xA9t\xC3\xA9");
  CHECK(wrapped("one two three", 0) == "one two three");
  CHECK(wrapped("one\ntwo three", 8) == "one\ntwo\nthree");
}

TEST_CASE("scripts without spaces break anywhere, two columns a character, and are not held") {
  const std::string you = "\xE4\xBD\xA0";
  CHECK(wrapped(you + you + you, 4) == you + you + "\n" + you);
  WordWrap wrap(20);
  CHECK(wrap.add(you) == "");
  CHECK(wrap.add(you) == you);
  CHECK(wrap.add("a") == you);
  CHECK(wrap.end() == "a");
}

TEST_CASE("lines of code stay whole") {
  const std::string code = "```c\nint main() { return 0; }\n```\n";
  CHECK(wrapped(code + "and then words", 9) == code + "and then\nwords");
  CHECK(wrapped("    int main() {}\n", 6) == "    int main() {}\n");
}

TEST_CASE("but for blanks nothing is added or lost, and no row is too wide, however text comes") {
  pc::test::Random random(7);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int i = 0; i < 120; ++i) text += "abc  \n`d"[random.below(8)];
    const std::size_t columns = 1 + random.below(20);
    WordWrap wrap(columns);
    std::string pieces;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t n = 1 + random.below(5);
      pieces += wrap.add(std::string_view(text).substr(at, n));
      at += n;
    }
    pieces += wrap.end();
    CHECK(pieces == wrapped(text, columns));
    const bool has_code = text.find("```") != text.npos || text.find("    ") != text.npos;
    for (std::size_t begin = 0; begin < pieces.size() && !has_code;) {
      const std::size_t end = std::min(pieces.find('\n', begin), pieces.size());
      const std::string row = pieces.substr(begin, end - begin);
      CHECK((row.size() <= columns || row.find_last_of(' ') == row.npos ||
             row.find_first_not_of(' ') > row.find_last_of(' ')));
      begin = end + 1;
    }
    const auto is_blank = [](char c) { return c == ' ' || c == '\n'; };
    std::erase_if(pieces, is_blank);
    std::erase_if(text, is_blank);
    CHECK(pieces == text);
  }
}
