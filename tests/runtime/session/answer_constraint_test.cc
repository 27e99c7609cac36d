// What a session makes of a constraint, where the model's tokens alone do not end the answer.
#include "runtime/session/answer_constraint.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runtime/constrain/grammar/grammar.h"
#include "tests/runtime/engine/apartment.h"

namespace pc::test {
namespace {

// Of a model's tokens, none of which ends a turn.
constrain::Constraint endless(const Engine& engine, const std::string& text) {
  std::vector<constrain::Vocabulary::Token> tokens(engine.model().desc.vocab_size);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i].bytes = engine.tokenizer().bytes(static_cast<TokenId>(i));
  const constrain::Constrainer constrainer{constrain::Vocabulary(std::move(tokens))};
  return must(constrainer.compile(constrain::literal(text)));
}

TEST_CASE("an answer that nothing can follow is over, also where no token says so") {
  Apartment home;
  SessionOptions o;
  o.constraint = endless(home.schema->engine(), "rainy");
  const auto session = home.open({user(kLong)}, o);
  std::string text;
  for (bool more = true; more;) {
    more = must(session->next()).has_value();
    text += session->text();
  }
  CHECK(text == "rainy");
  CHECK(session->stats().finish == Finish::kEos);
  CHECK(session->stats().end_token == -1);
  CHECK_FALSE(must(session->next()));
}

TEST_CASE("a constraint follows an answer when it is asked, and a copy goes on by itself") {
  Apartment home;
  AnswerConstraint none, one(endless(home.schema->engine(), "ab"));
  CHECK(none.behind(Tokens{5}) == nullptr);
  AnswerConstraint other = one;
  Tokens answer{*home.schema->engine().tokenizer().token_to_id("a")};
  CHECK(one.behind(answer)->forced_text(9) == "b");
  CHECK(one.behind(answer)->forced_text(9) == "b");
  CHECK(other.behind({})->forced_text(9) == "ab");
  answer.push_back(*home.schema->engine().tokenizer().token_to_id("b"));
  CHECK(one.behind(answer)->is_over());
}

}  // namespace
}  // namespace pc::test
