#include "tools/command/help_text.h"

#include <catch2/catch.hpp>
#include <sstream>

using namespace pc::cli;

TEST_CASE("an entry has its right side in one column, folded between words") {
  CHECK(help_entry("-q", "quiet") == "  -q" + std::string(26, ' ') + "quiet\n");
  CHECK(help_entry("--an-option-that-is-far-too-long", "quiet") ==
        "  --an-option-that-is-far-too-long\n" + std::string(30, ' ') + "quiet\n");
}

TEST_CASE("no line is wider than a terminal and no word is lost") {
  std::string right, word;
  for (int i = 1; i < 60; ++i)
    right += (i > 1 ? " " : "") + std::string(static_cast<std::size_t>(i * 7 % 20 + 1), 'x');
  std::istringstream lines(help_entry("--left", right)), words(right);
  std::string joined;
  for (std::string line; std::getline(lines, line);) {
    CHECK(line.size() <= kHelpWidth);
    CHECK(line.back() != ' ');
    joined += line.substr(kHelpLeft) + " ";
  }
  CHECK(joined == right + " ");
}
