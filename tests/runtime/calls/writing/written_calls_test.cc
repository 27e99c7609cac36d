// Parameters that a template writes one by one: whatever a grammar of them lets through, the reader
// of calls reads.

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "runtime/calls/reading/call_stream.h"
#include "runtime/constrain/grammar/constraint.h"
#include "tests/runtime/constrain/small_vocabulary.h"
#include "tests/runtime/constrain/takes.h"
#include "tests/support/random.h"

namespace pc::constrain::test {
namespace {

const MemberWords kWords{"<parameter=", ">\n", "\n</parameter>", "\n"};

// As the server learns it of such a template.
calls::CallShape shape() {
  calls::CallShape shape;
  shape.kind = calls::CallShape::Kind::kParameters;
  shape.begin = "<function=";
  shape.after_name = ">\n";
  shape.key_open = kWords.key_open;
  shape.key_close = kWords.key_close;
  shape.value_close = kWords.value_close;
  shape.end = "</function>";
  return shape;
}

std::string random_text(const Vocabulary& vocabulary, Constraint constraint,
                        pc::test::Random& random) {
  std::string text;
  while (!constraint.is_over() && text.size() < 2000) {
    TokenBits bits(vocabulary.n_words(), ~std::uint32_t{0});
    constraint.mask(bits);
    std::vector<std::int32_t> allowed;
    for (std::uint32_t i = 0; i < vocabulary.size(); ++i)
      if ((bits[i / 32] >> i % 32 & 1) && !vocabulary.ends_turn(i))
        allowed.push_back(static_cast<std::int32_t>(i));
    REQUIRE_FALSE(allowed.empty());
    const bool closes = random.chance(0.3);
    const std::int32_t token =
        closes ? allowed.back() : allowed[random.below(static_cast<std::uint32_t>(allowed.size()))];
    REQUIRE(constraint.accept(token));
    text += vocabulary.bytes(static_cast<std::uint32_t>(token));
  }
  return text;
}

// Whatever the masks let through is read as one call; gives how many had a text of some length.
int count_read(const std::string& open, const MemberWords& words, const std::string& close,
               const calls::CallShape& shape, const std::vector<const char*>& closers) {
  const Json parameters = Json::read(R"({"type": "object", "required": ["text", "few", "both"],
      "properties": {"text": {"type": "string"}, "few": {"type": "string", "maxLength": 3},
                     "both": {"type": ["string", "null"], "maxLength": 4},
                     "list": {"type": "array", "items": {"type": "string"}, "maxItems": 2}}})");
  std::vector<Vocabulary::Token> tokens = small_tokens();
  for (const char* const text : closers) tokens.push_back({text, false});
  const Vocabulary vocabulary(tokens);
  Constrainer constrainer{Vocabulary(tokens)};
  const Constraint start =
      constrainer
          .start(sequence(
              {literal(open), written_members(parameters, "tools[0]", words), literal(close)}))
          .value();
  const calls::ToolTypes types(Json::array().push(Json::object().set(
      "function", Json::object().set("name", "f").set("parameters", parameters))));
  pc::test::Random random(8);
  int n_long = 0;
  for (int round = 0; round < 200; ++round) {
    const std::string text = random_text(vocabulary, start, random);
    if (!text.ends_with(close)) continue;  // it goes on and on
    INFO(text);
    const calls::ReadAnswer read = calls::read_answer(shape, types, text);
    REQUIRE(read.text.empty());
    REQUIRE(read.calls.size() == 1);
    const Json& arguments = read.calls.front().arguments;
    REQUIRE(arguments["text"].is_string());
    REQUIRE(arguments["few"].is_string());
    REQUIRE(takes(R"({"type": "string", "maxLength": 3})", arguments["few"].dump()));
    REQUIRE(takes(R"({"type": ["string", "null"], "maxLength": 4})", arguments["both"].dump()));
    REQUIRE((arguments["list"].is_null() || arguments["list"].is_array()));
    n_long += arguments["text"].string().size() > 2;
  }
  return n_long;
}

TEST_CASE("whatever the masks let through is read as a call that the schema takes") {
  CHECK(count_read("<function=f>\n", kWords, "</function>", shape(),
                   {"</", "</parameter>", "parameter>", "\n</parameter>", "\n</parameter>\n"}) >
        50);
  calls::CallShape python;
  python.kind = calls::CallShape::Kind::kPython;
  python.begin = "<call>";
  python.end = "</call>";
  CHECK(count_read("<call>[f(", {"", "=", "", ", ", true}, ")]</call>", python,
                   {")]", "', ", "\")", "\", "}) > 50);
}

}  // namespace
}  // namespace pc::constrain::test
