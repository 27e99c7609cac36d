// Answers by roles, within a number of conversations and of bytes.
#include "runtime/chat/turns/remembered_turn_texts.h"

#include <catch2/catch.hpp>
#include <string>

using namespace pc;
using pml::Role;

namespace {

using Roles = std::vector<Role>;

// The conversation of this number, no two of which are the same.
Roles roles_of(std::size_t number) {
  Roles roles(10);
  for (Role& role : roles) {
    role = static_cast<Role>(number % 3);
    number /= 3;
  }
  return roles;
}

RememberedTurnTexts::Answer answer_of(std::size_t number, std::size_t n_bytes = 10) {
  pml::TurnTexts texts;
  texts.turns.resize(10);
  texts.answer = std::to_string(number) + std::string(n_bytes, '.');
  return std::make_shared<const Result<pml::TurnTexts>>(std::move(texts));
}

}  // namespace

TEST_CASE("what was answered is found by its roles, refusals too") {
  RememberedTurnTexts remembered;
  CHECK_FALSE(remembered.find(roles_of(1)));
  remembered.add(roles_of(1), answer_of(1));
  remembered.add(roles_of(2), std::make_shared<const Result<pml::TurnTexts>>(
                                  error(Code::kUnsupported, "the model's template refuses")));
  REQUIRE(remembered.find(roles_of(1)));
  CHECK((*remembered.find(roles_of(1)))->answer == "1..........");
  REQUIRE(remembered.find(roles_of(2)));
  CHECK(remembered.find(roles_of(2))->error().message == "the model's template refuses");
  Roles shorter = roles_of(1);
  shorter.pop_back();
  CHECK_FALSE(remembered.find(shorter));
}

TEST_CASE("the conversation that was not asked for the longest is forgotten, and no other") {
  constexpr std::size_t kMax = RememberedTurnTexts::kMaxConversations;
  RememberedTurnTexts remembered;
  for (std::size_t i = 0; i < kMax; ++i) remembered.add(roles_of(i), answer_of(i));
  CHECK(remembered.find(roles_of(0)));
  remembered.add(roles_of(kMax), answer_of(kMax));
  CHECK_FALSE(remembered.find(roles_of(1)));
  for (std::size_t i = 0; i <= kMax; ++i) CHECK((i == 1 || remembered.find(roles_of(i))));
}

TEST_CASE("long answers are bounded by their bytes") {
  RememberedTurnTexts remembered(100'000);
  for (std::size_t i = 0; i < 50; ++i) {
    remembered.add(roles_of(i), answer_of(i, 10'000));
    CHECK(remembered.find(roles_of(i)));
    REQUIRE(remembered.n_bytes() <= 100'000);
  }
  CHECK(remembered.find(roles_of(45)));
  CHECK_FALSE(remembered.find(roles_of(40)));
  remembered.add(roles_of(50), answer_of(50, 200'000));
  CHECK_FALSE(remembered.find(roles_of(50)));
  CHECK(remembered.n_bytes() == 0);
}
