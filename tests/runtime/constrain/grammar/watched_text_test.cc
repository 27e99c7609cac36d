#include "runtime/constrain/grammar/watched_text.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "tests/runtime/constrain/takes.h"

namespace pc::constrain::test {
namespace {

// By searching: the first word that is over ends the text, and "!" must come behind it.
bool is_right(std::string_view text, const std::vector<std::string>& words) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    const std::string_view until = text.substr(0, end);
    if (std::ranges::none_of(words, [&](const auto& word) { return until.ends_with(word); }))
      continue;
    return text.size() > end && text[end] == '!' && is_right(text.substr(end + 1), words);
  }
  return true;
}

TEST_CASE("behind each word comes what must, and any text elsewhere") {
  std::mt19937 random(5);
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"a"},
                                             {"abab"},
                                             {"aab", "ab"},
                                             {"ab", "bab", "abb"},
                                             {"aa", "aab", "baab"},
                                             {"b!a"},
                                             {"abba", "bbb"}}) {
    const Automaton automaton = watched_text(words, literal("!")).compiled().value().automaton;
    for (int i = 0; i < 3000; ++i) {
      std::string text(random() % 14, ' ');
      for (char& c : text) c = "ab!"[random() % 3];
      INFO(words.front() << " in " << text);
      CHECK(takes(automaton, text) == is_right(text, words));
    }
  }
}

TEST_CASE("text may be kept from words") {
  const std::vector<std::string> words{"<call>", "\xFF<call>", "aab"};
  const Automaton automaton = text_without(words).compiled().value().automaton;
  std::mt19937 random(6);
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (std::size_t parts = random() % 8; parts > 0; --parts)
      text += std::vector<std::string>{"a", "b", "<", "<call", ">", "\xFF<call>"}[random() % 6];
    INFO(text);
    CHECK(takes(automaton, text) == std::ranges::none_of(words, [&](const auto& word) {
            return text.find(word) != text.npos;
          }));
  }
}

TEST_CASE("text may have any byte, control tokens among them") {
  const Grammar call = sequence({literal("\n"), json_schema(Json::read(R"({"const": 5})"), "x")});
  const Automaton automaton =
      watched_text({"<call>", "\xFF<call>"}, call).compiled().value().automaton;
  for (const char* const text : {"", "ol\xC3\xA9 <cal", "\xFF<think>so\xFF</think>", "a<call>\n5 b",
                                 "\xFF<call>\n5\xFF<call>\n5", "a\xFF<<call>\n5"})
    CHECK(takes(automaton, text));
  for (const char* const text :
       {"<call>", "a\xFF<call>\n", "a\xFF<call>5", "<call>\n6", "<call>\n5<call>"})
    CHECK_FALSE(takes(automaton, text));
}

}  // namespace
}  // namespace pc::constrain::test
