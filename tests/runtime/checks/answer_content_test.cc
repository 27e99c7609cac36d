// What answers say beside each other, by their words.
#include "runtime/checks/answer_content.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace pc::test {
namespace {

using Words = std::vector<std::string>;

const AskedAbout kWhich = {"Question: Which report mentions a red bicycle?",
                           {"Report Amber. The weather was mild. Ada sold a red bicycle.",
                            "Report Birch. The trains ran on time. Hugo sold an old piano.",
                            "Report Coral. The weather was mild. Nils sold a white boat."}};

bool says(const std::string& answer, const std::string& other) {
  return AnswerContent(answer, kWhich).is_in(other);
}

TEST_CASE("words are without case and punctuation, and characters where nobody writes spaces") {
  CHECK(words_of("It's \"Six euros\",\n\tnot 6.50!") ==
        Words{"it", "s", "six", "euros", "not", "6", "50"});
  CHECK(words_of("Größe\u2014caf\u00e9\u2026") == Words{"größe", "café"});
  CHECK(words_of("\u6771\u4eac\u306eAB") == Words{"\u6771", "\u4eac", "\u306e", "ab"});
  CHECK(words_of("\ud55c\uad6d \uc5b4") == Words{"\ud55c\uad6d", "\uc5b4"});
  // Thai and Khmer with their vowels and tones, and Hindi, which has spaces.
  CHECK(words_of("\u0e17\u0e35\u0e48\u0e19\u0e35\u0e48") ==
        Words{"\u0e17\u0e35\u0e48", "\u0e19\u0e35\u0e48"});
  CHECK(words_of("\u1780\u17b6\u179a\u17d4") == Words{"\u1780\u17b6", "\u179a"});
  CHECK(words_of("\u0939\u093f\u0928\u094d\u0926\u0940 \u092e\u0947\u0902\u0964") ==
        Words{"\u0939\u093f\u0928\u094d\u0926\u0940", "\u092e\u0947\u0902"});
  CHECK(words_of("\u061f \u0623\u064a\u0646\u060c \u00c9T\u00c9\uff1a\uff01\u3001") ==
        Words{"\u0623\u064a\u0646", "\u00e9t\u00e9"});
  CHECK(words_of("").empty());
  CHECK(words_of("?!").empty());
  CHECK(words_of("good \xff bad") == Words{"good"});
}

TEST_CASE(
    "an answer that is worded otherwise is kept, and one that names another document is not") {
  CHECK(says("Amber", "The report that mentions a red bicycle is Report Amber."));
  CHECK(says("Report Amber mentions a red bicycle.", "amber"));
  CHECK_FALSE(says("Report Amber mentions a red bicycle.", "Report Birch mentions a red bicycle."));
  CHECK_FALSE(says("Amber", ""));
}

TEST_CASE("what was counted is said although no document has it") {
  CHECK(says("2", "2 reports."));
  CHECK_FALSE(says("2", "3"));
  CHECK_FALSE(says("Of the documents 2 mention it.", "Of the documents 3 mention it."));
}

TEST_CASE("words that most documents have, and the question's, say nothing") {
  // "weather" and "mild" stand in two of three.
  CHECK(says("The weather was mild: Hugo.", "Hugo"));
  CHECK_FALSE(says("The weather was mild: Hugo.", "The weather was mild: Nils."));
}

TEST_CASE("an answer of the question's words alone says these") {
  CHECK(says("a red bicycle", "It is a red bicycle."));
  CHECK_FALSE(says("a red bicycle", "I do not know"));
}

TEST_CASE("more than half of what is said must be there") {
  CHECK(says("Amber, Hugo and Ada", "Amber, Hugo and Nils"));
  CHECK_FALSE(says("Amber Hugo", "Amber"));
}

TEST_CASE("of numbers each must be there") {
  CHECK(says("Amber, Hugo and 1999", "Hugo and Amber: 1999"));
  CHECK_FALSE(says("Amber, Hugo and 1999", "Amber, Hugo and 1998"));
}

TEST_CASE("numbers in other digits are numbers") {
  const AskedAbout prices = {"?", {"The tram.", "The bus."}};
  CHECK_FALSE(AnswerContent("\u0663 \u0623\u064a\u0646 A B", prices)
                  .is_in("\u0664 \u0623\u064a\u0646 A B"));
}

TEST_CASE("nothing is in nothing") {
  CHECK(says("", ""));
  CHECK(says("...", "!"));
  CHECK_FALSE(says("", "Amber"));
}

TEST_CASE("with one document its words are what an answer says") {
  const AskedAbout one = {"How much?", {"The tram costs six euros."}};
  CHECK(AnswerContent("six euros", one).is_in("It costs six euros."));
  CHECK_FALSE(AnswerContent("six euros", one).is_in("It costs four."));
}

}  // namespace
}  // namespace pc::test
