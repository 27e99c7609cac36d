#include "runtime/tokenizer/text/text_normalizer.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace pc;

namespace {

Result<TextNormalizer> make(const std::string& json) {
  const auto document = JsonDocument::parse("{\"n\":" + json + "}", "t.json");
  if (!document.ok()) FAIL(document.error().message);
  return TextNormalizer::from_json(document->root().find("n"));
}

}  // namespace

TEST_CASE("NFC: the examples of Unicode's annex 15 and the hard corners") {
  const std::pair<const char*, const char*> cases[] = {
      {"plain", "plain"},
      {"\u212b", "\u00c5"},  // a singleton: the Angstrom sign
      {"A\u030a", "\u00c5"},
      {"q\u0307\u0323", "q\u0323\u0307"},  // order of marks
      {"\u1e0a\u0323", "\u1e0c\u0307"},
      {"\u1100\u1161\u11a8", "\uac01"},  // Hangul
      {"\uac00\u11a8", "\uac01"},
      {"\u0958", "\u0915\u093c"},  // excluded from composition
      {"\u0344", "\u0308\u0301"},
      {"\u0301a", "\u0301a"},
      {"a\u0315\u0300\u05ae\u0300", "\u00e0\u05ae\u0300\u0315"},
      {"\U0001d15e", "\U0001d157\U0001d165"},
  };
  for (const auto& [text, composed] : cases) {
    CHECK(to_nfc(text) == composed);
    CHECK(to_nfc(composed) == composed);
  }
}

TEST_CASE("NFC of a long run of marks is quick") {
  std::string text = "a";
  for (int i = 0; i < 200000; ++i) text += i % 2 == 0 ? "\u0301" : "\u0323";
  const std::string composed = to_nfc(text);
  CHECK(composed.starts_with("\u1ea1\u0323\u0323"));
  CHECK(to_nfc(composed) == composed);
}

TEST_CASE("rules apply in their order, and a prefix only when it is due") {
  const auto rules = make(R"({"type":"Sequence","normalizers":[{"type":"NFC"},
      {"type":"Prepend","prepend":"▁"},
      {"type":"Replace","pattern":{"String":" "},"content":"▁"}]})");
  REQUIRE(rules.ok());
  CHECK(rules->adds_prefix());
  CHECK(rules->apply("a  e\u0301", true) == "▁a▁▁é");
  CHECK(rules->apply("a ", false) == "a▁");
  CHECK(rules->apply("", true).empty());
  CHECK(make("null")->apply("A\u030a", true) == "A\u030a");
}

TEST_CASE("a rule that is not known is an error that names field and type") {
  CHECK(
      make(R"({"type":"Sequence","normalizers":[{"type":"Lowercase"}]})").error().message ==
      "t.json: $.n.normalizers[0]: type \"Lowercase\" is not supported; NFC, Prepend, Replace or a "
      "Sequence of them is");
  CHECK(make(R"({"type":"Replace","pattern":{"Regex":"a"},"content":""})").error().message ==
        "t.json: $.n.pattern: only a String is supported as the pattern to replace");
  CHECK_FALSE(make(R"({"type":"Replace","pattern":{"String":""},"content":"x"})").ok());
  CHECK_FALSE(make(R"({"type":"Prepend"})").ok());
}

// At a cut behind which nothing combines, the parts' own NFC is the whole's.
TEST_CASE("cuts move with what they cut") {
  const std::string parts[] = {"A\u030a",   "\u212b ",     "\u1100\u1161\u11a8",
                               "x  \u00e9", "\u0958",      "q\u0307\u0323",
                               "\u0344",    "\U0001d15e日"};
  std::string text, nfc;
  std::vector<std::size_t> cuts, expected;
  for (const std::string& part : parts) {
    text += part;
    nfc += to_nfc(part);
    cuts.push_back(text.size());
    expected.push_back(nfc.size());
  }
  text += "\u0301", nfc += "\u0301";
  REQUIRE(to_nfc(text) == nfc);
  move_cuts_to_nfc(text, nfc, cuts);
  CHECK(cuts == expected);

  // A character that is composed over a cut lies before it.
  cuts = {1, 3, 4};
  move_cuts_to_nfc("e\u0301x", "\u00e9x", cuts);
  CHECK(cuts == std::vector<std::size_t>{2, 2, 3});

  const auto rules = make(R"({"type":"Sequence","normalizers":[{"type":"NFC"},
      {"type":"Prepend","prepend":"▁"},
      {"type":"Replace","pattern":{"String":" "},"content":"▁"}]})");
  cuts = {1, 2};
  CHECK(rules->apply("a e\u0301x", true, cuts) == "▁a▁éx");
  CHECK(cuts == std::vector<std::size_t>{4, 7});
}
