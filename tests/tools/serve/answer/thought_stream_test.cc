#include "tools/serve/answer/thought_stream.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>

namespace pc::serve {
namespace {

const ThoughtShape kThink{"<think>", "</think>", "reasoning_content"};

ThoughtPiece parted(std::string_view text, bool is_thinking, std::mt19937* random) {
  ThoughtStream stream(kThink, is_thinking);
  ThoughtPiece all;
  const auto add = [&](const ThoughtPiece& piece) {
    all.thought += piece.thought;
    all.said += piece.said;
  };
  while (!text.empty()) {
    const std::size_t n = std::min<std::size_t>(1 + (*random)() % 5, text.size());
    add(stream.push(text.substr(0, n)));
    text.remove_prefix(n);
  }
  add(stream.finish());
  return all;
}

}  // namespace

TEST_CASE("a thought is parted from what is said, however the answer comes in pieces") {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    const ThoughtPiece own =
        parted("\n<think>\nTwo and\n\ntwo.\n</think>\n\nFour.\n", false, &random);
    CHECK(own.thought == "Two and\n\ntwo.");
    CHECK(own.said == "Four.\n");
    const ThoughtPiece opened = parted("Two </thin two.</think>Four.", true, &random);
    CHECK(opened.thought == "Two </thin two.");
    CHECK(opened.said == "Four.");
    CHECK(parted("<think>Still", false, &random).thought == "Still");
  }
}

TEST_CASE("what is no thought at the answer's beginning is said, all of it") {
  std::mt19937 random(4);
  for (const char* const text : {"Four. <think>no</think>", "<thin", " <b>Four</b>", ""}) {
    const ThoughtPiece piece = parted(text, false, &random);
    CHECK(piece.said == text);
    CHECK(piece.thought.empty());
  }
  ThoughtStream none(std::nullopt, false);
  CHECK(none.push("<think>a</think>b").said == "<think>a</think>b");
}

}  // namespace pc::serve
