#include "tools/chat/line_completion.h"

#include <array>
#include <catch2/catch.hpp>

using namespace pc::cli;

namespace {

const std::array<std::string, 4> kWords = {"/undo", "/use", "/new", "name="};

}  // namespace

TEST_CASE("one word is completed, and of several what they have in common") {
  CHECK(completion_of("/n", kWords) == "ew ");
  CHECK(completion_of("/u", kWords) == "");
  CHECK(completion_of("/us", kWords) == "e ");
  CHECK(completion_of("/", kWords) == "");
  CHECK(completion_of("x", kWords) == "");
  CHECK(completion_of("", kWords) == "");
  CHECK(completion_of("", std::array<std::string, 2>{"europe/oslo", "europe/rome"}) == "europe/");
}

TEST_CASE("the last word of the line is meant, and a value follows at once") {
  CHECK(completion_of("/use europe /un", kWords) == "do ");
  CHECK(completion_of("/use europe na", kWords) == "me=");
}
