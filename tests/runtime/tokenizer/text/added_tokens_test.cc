// Finding added tokens, against looking for each of them at each place.
#include "runtime/tokenizer/text/added_tokens.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/support/random.h"

using namespace pc;

namespace {

AddedToken token(TokenId id, const std::string& content, bool control) {
  AddedToken out;
  out.id = id;
  out.content = content;
  out.control = control;
  return out;
}

struct Found {
  TokenId id = -1;
  std::size_t at = 0;
  bool operator==(const Found&) const = default;
};

// The definition: the leftmost, and of those the longest.
Found slowly(const std::vector<AddedToken>& tokens, const std::string& text, std::size_t from,
             std::size_t to, std::size_t control_end) {
  for (std::size_t at = from; at < to; ++at) {
    const AddedToken* best = nullptr;
    for (const AddedToken& t : tokens) {
      if (text.compare(at, t.content.size(), t.content) != 0) continue;
      if (t.control && at + t.content.size() > control_end) continue;
      if (best == nullptr || t.content.size() > best->content.size()) best = &t;
    }
    if (best != nullptr) return {best->id, at};
  }
  return {};
}

}  // namespace

TEST_CASE("the leftmost added token is found, the longest of several, control tokens in bounds") {
  test::Random random(7);
  const auto letters = [&](std::uint32_t most) {
    std::string out;
    for (std::uint32_t n = random.below(most + 1); n > 0; --n) out += "ab\xC3"[random.below(3)];
    return out;
  };
  for (int round = 0; round < 300; ++round) {
    AddedTokens added;
    const std::uint32_t n = random.below(8);
    for (std::uint32_t i = 0; i < n; ++i)
      added.add(token(static_cast<TokenId>(i), letters(5), random.below(2) == 0));
    added.seal();
    for (int i = 0; i < 30; ++i) {
      const std::string text = letters(20);
      const auto size = static_cast<std::uint32_t>(text.size());
      const std::size_t from = random.below(size + 1), to = random.between(0, size),
                        control_end = random.below(size + 1);
      Found found;
      if (const AddedToken* t = added.next(text, from, to, control_end, &found.at))
        found.id = t->id;
      if (found.id == -1) found.at = 0;
      REQUIRE(found == slowly(added.all(), text, from, to, control_end));
    }
  }
}

TEST_CASE("the first of two tokens with one spelling counts") {
  AddedTokens added;
  added.add(token(1, "<s>", true));
  added.add(token(2, "<s>", false));
  added.add(token(3, "", false));
  CHECK(added.all().size() == 1);
  CHECK(added.find("<s>")->id == 1);
  CHECK(added.find("") == nullptr);
}

TEST_CASE("what looks like a control token is one, whatever its flag") {
  for (const char* content : {"<|im_start|>", "<｜User｜>", "<start_of_turn>", "<end_of_turn>"}) {
    CHECK(is_control(false, content));
  }
  for (const char* content :
       {"<think>", "</tool_call>", "\xC3\xB6", "   ", "<||>", "|>", "<table>"}) {
    CHECK_FALSE(is_control(false, content));
    CHECK(is_control(true, content));
  }
  CHECK_FALSE(is_control(false, std::string(kMaxTextTokenBytes, 'a')));
  CHECK(is_control(false, std::string(kMaxTextTokenBytes + 1, 'a')));
}
