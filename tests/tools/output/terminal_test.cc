#include "tools/output/terminal.h"

#include <catch2/catch.hpp>

using namespace pc::cli;

TEST_CASE("no control character reaches the terminal") {
  CHECK(printable("plain ünïcode 漢字 🙂") == "plain ünïcode 漢字 🙂");
  CHECK(printable("a\nb\tc") == "a\\nb\\tc");
  CHECK(printable("\x1b[31mred\x7f") == "\\x1b[31mred\\x7f");
  CHECK(printable("\xc2\x9b"
                  "1m") ==
        "\\xc2\\x9b"
        "1m");  // C1: the one-character form of ESC [
  CHECK(printable("\xc2\xa0") == "\xc2\xa0");
  CHECK(printable("cut \xc2") == "cut \xc2");
  CHECK(printable_lines("a\nb\tc\r\x1b") == "a\nb\tc\\x0d\\x1b");
}

TEST_CASE("every byte is either kept or written as printable ASCII") {
  for (int byte = 0; byte < 0x80; ++byte) {
    const std::string out = printable(std::string(1, static_cast<char>(byte)));
    for (const char c : out) CHECK((c >= ' ' && c < 0x7f));
  }
}

TEST_CASE("text is cut between characters and the cut is marked") {
  CHECK(elide("short", 5) == "short");
  CHECK(elide("longer than that", 9) == "longer...");
  CHECK(elide("Zürich Zürich", 5) == "Zü...");
  CHECK(elide("abc", 2) == "...");
  CHECK(display_width("Zürich") == 6);
}
