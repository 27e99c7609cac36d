#include "runtime/constrain/grammar/constraint.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/constrain/random_walk.h"
#include "tests/runtime/constrain/small_vocabulary.h"

namespace pc::constrain::test {
namespace {

// Of small_tokens(): the last but one.
const auto kEnd = static_cast<std::int32_t>(small_tokens().size()) - 2;

// Byte by byte.
bool accept(Constraint& constraint, std::string_view text) {
  for (const char c : text)
    if (!constraint.accept(static_cast<unsigned char>(c))) return false;
  return true;
}

bool takes(Constraint constraint, std::string_view text) {
  return accept(constraint, text) && constraint.may_end();
}

TEST_CASE("an answer goes from its beginning to the end of its turn") {
  Constrainer constrainer{Vocabulary(small_tokens())};
  Constraint constraint = constrainer.start(json_object()).value();
  CHECK_FALSE(constraint.accept(kEnd));
  CHECK_FALSE(constraint.accept('['));
  CHECK_FALSE(constraint.accept(kEnd + 1));  // a control token
  CHECK_FALSE(constraint.accept(-1));
  CHECK_FALSE(constraint.accept(1'000'000));
  CHECK(accept(constraint, "{"));
  Constraint other = constraint;
  CHECK(accept(constraint, "}"));
  CHECK(constraint.may_end());
  CHECK(constraint.is_over());
  CHECK(constraint.accept(kEnd));
  CHECK_FALSE(other.is_over());  // a copy goes on by itself
  CHECK(accept(other, R"("a":1})"));
}

TEST_CASE("the mask clears the bits of all tokens that may not come") {
  const Vocabulary vocabulary(small_tokens());
  Constrainer constrainer{Vocabulary(small_tokens())};
  Constraint constraint = constrainer.start(literal("ab")).value();
  TokenBits bits(vocabulary.n_words(), ~std::uint32_t{0});
  constraint.mask(bits);
  TokenBits wanted(vocabulary.n_words());
  set_token(wanted, 'a');
  CHECK(bits == wanted);
  CHECK(accept(constraint, "ab"));
  bits.assign(bits.size(), ~std::uint32_t{0});
  constraint.mask(bits);
  wanted.assign(wanted.size(), 0);
  set_token(wanted, static_cast<std::uint32_t>(kEnd));
  CHECK(bits == wanted);
}

TEST_CASE("what is forced is what comes whichever way is taken, and no more") {
  Constrainer constrainer{Vocabulary(small_tokens())};
  Constraint constraint =
      constrainer
          .start(sequence({literal("<call>{\"name\": \""),
                           choice({literal("add\", \"of\": 1"), literal("ask\", \"of\": 2")}),
                           literal("}")}))
          .value();
  CHECK(constraint.forced_text(100) == "<call>{\"name\": \"a");
  CHECK(constraint.forced_text(4) == "<cal");
  CHECK(accept(constraint, "<call>{\"name\": \"ad"));
  CHECK(constraint.forced_text(100) == "d\", \"of\": 1}");
  CHECK(accept(constraint, "d\", \"of\": 1}"));
  CHECK(constraint.forced_text(100).empty());
  CHECK(constrainer.start(choice({literal("a"), literal("ab")})).value().forced_text(9) == "a");
  CHECK(constrainer.start(literal("\xC3\xA9")).value().forced_text(9).empty());
}

TEST_CASE("no byte but the forced one can come, wherever an answer is") {
  const char* const kSchema =
      R"({"type":"object","properties":{"room":{"enum":["kitchen","hall"]},"watts":{"type":"integer"},)"
      R"("note":{"type":"string","minLength":3,"maxLength":4}},"required":["room","note"],)"
      R"("additionalProperties":false})";
  Constrainer constrainer{Vocabulary(small_tokens())};
  std::mt19937 random(4);
  std::size_t n_forced = 0;
  for (int round = 0; round < 60; ++round) {
    Constraint constraint = constrainer.start(json_schema(Json::read(kSchema), "schema")).value();
    for (int i = 0; i < 60 && !constraint.is_over(); ++i) {
      const std::string forced = constraint.forced_text(1);
      std::string allowed;
      for (int byte = 0; byte < 256; ++byte)
        if (Constraint(constraint).accept(byte)) allowed += static_cast<char>(byte);
      if (!forced.empty()) REQUIRE((allowed == forced && !constraint.may_end()));
      n_forced += !forced.empty();
      if (allowed.empty()) break;
      REQUIRE(accept(constraint, allowed.substr(random() % allowed.size(), 1)));
    }
  }
  CHECK(n_forced > 200);
}

TEST_CASE("grammars are put together: the calls of tools") {
  const auto call = [](const std::string& name, const char* schema) {
    return sequence({literal("<call>{\"name\": \"" + name + "\", \"arguments\": "),
                     json_schema(Json::read(schema), "tools[0].parameters"), literal("}</call>")});
  };
  Constrainer constrainer{Vocabulary(small_tokens())};
  const Constraint constraint =
      constrainer
          .start(choice(
              {call("add",
                    R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]})"),
               call("ask",
                    R"({"type":"object","properties":{"q":{"type":"string"}},"required":["q"]})")}))
          .value();
  CHECK(takes(constraint, R"(<call>{"name": "add", "arguments": {"a":1}}</call>)"));
  CHECK(takes(constraint, R"(<call>{"name": "ask", "arguments": {"q": "x"}}</call>)"));
  CHECK_FALSE(takes(constraint, R"(<call>{"name": "ask", "arguments": {"a":1}}</call>)"));
  CHECK_FALSE(takes(constraint, R"(<call>{"name": "add", "arguments": {"a":1}})"));
}

TEST_CASE("a template's control tokens come as such, and not in letters") {
  std::vector<Vocabulary::Token> tokens = small_tokens();
  const auto kCall = static_cast<std::int32_t>(tokens.size()), kMore = kCall + 1, kStop = kCall + 2;
  tokens.push_back({"", false, "[CALL]"});
  tokens.push_back({"", false, "[CALL][MORE]"});
  tokens.push_back({"", true, "</s>"});
  const Vocabulary vocabulary(tokens);
  CHECK(vocabulary.with_controls("a[CALL]b") == "a\xFF[CALL]b");
  CHECK(vocabulary.with_controls("[CALL][MORE]x</s>y") == "\xFF[CALL][MORE]x");
  CHECK(vocabulary.with_controls("[CALL") == "[CALL");

  Constrainer constrainer{Vocabulary(tokens)};
  Constraint constraint =
      constrainer
          .start(
              sequence({literal(constrainer.vocabulary().with_controls("[CALL]f")), json_object(),
                        literal(constrainer.vocabulary().with_controls("[CALL][MORE]</s>"))}))
          .value();
  std::vector<std::uint32_t> allowed((tokens.size() + 31) / 32, ~std::uint32_t{0});
  constraint.mask(allowed);
  std::size_t n_allowed = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) n_allowed += allowed[i / 32] >> (i % 32) & 1;
  CHECK(n_allowed == 1);
  CHECK_FALSE(constraint.accept('['));
  CHECK_FALSE(constraint.accept(0xFF));
  CHECK_FALSE(constraint.accept(kMore));
  CHECK(constraint.accept(kCall));
  CHECK(accept(constraint, "f{\"a\":\""));
  CHECK_FALSE(constraint.accept(kCall));  // in a string
  CHECK(accept(constraint, "[CALL]\"}"));
  CHECK_FALSE(constraint.accept(kStop));
  CHECK(constraint.accept(kMore));
  CHECK(constraint.accept(kStop));
}

TEST_CASE("an added token that is text comes whole in a template's words, and as any in a string") {
  std::vector<Vocabulary::Token> tokens = small_tokens();
  const auto kCall = static_cast<std::int32_t>(tokens.size());
  tokens.push_back({"<call>", false, "<call>"});
  Constrainer constrainer{Vocabulary(tokens)};
  const Constraint begin =
      constrainer
          .start(
              sequence({literal(constrainer.vocabulary().with_controls("<call>")), json_object()}))
          .value();
  Constraint constraint = begin;
  CHECK_FALSE(constraint.accept('<'));
  CHECK(constraint.accept(kCall));
  CHECK(accept(constraint, "{\"a\":\""));
  CHECK(constraint.accept(kCall));
  CHECK(accept(constraint, "<call>\"}"));
  CHECK(constraint.may_end());

  Constraint plain = constrainer.start(sequence({literal("<call>"), json_object()})).value();
  CHECK(accept(plain, "<call>{"));
}

TEST_CASE("grammars are told apart by all that they say") {
  const auto schema = [](const char* text) { return json_schema(Json::read(text), "s"); };
  CHECK(sequence({literal("a"), literal("b")}).key() != sequence({literal("ab")}).key());
  CHECK(sequence({literal("a")}).key() != choice({literal("a")}).key());
  CHECK(schema("{}").key() != literal("{}").key());
  CHECK(schema(R"({"type":"null"})").key() == schema(R"( {"type" : "null"} )").key());
}

TEST_CASE("a schema that cannot be enforced says so when an answer is to start") {
  Constrainer constrainer{Vocabulary(small_tokens())};
  const Grammar grammar =
      json_schema(Json::read(R"({"items":{"$dynamicRef":"#a"}})"), "response_format.schema");
  CHECK(constrainer.start(grammar).error().message ==
        R"(response_format.schema/items: "$dynamicRef" cannot be enforced here)");
}

TEST_CASE("many answers at once, under more grammars than are remembered") {
  const Vocabulary vocabulary(small_tokens());
  Constrainer constrainer{Vocabulary(small_tokens())};
  std::vector<std::thread> threads;
  std::vector<std::string> defects(4);
  for (std::size_t t = 0; t < defects.size(); ++t)
    threads.emplace_back([&, t] {
      RandomWalk random(vocabulary, t);
      for (int i = 0; i < 60; ++i) {
        const std::string schema = R"({"type":"array","items":{"type":"string"},"minItems":)" +
                                   std::to_string(i % 40) + "}";
        const Walk walk =
            random.run(constrainer.start(json_schema(Json::read(schema), "s")).value(), 20);
        if (!walk.defect.empty()) defects[t] = walk.defect;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(defects == std::vector<std::string>(4));
}

}  // namespace
}  // namespace pc::constrain::test
