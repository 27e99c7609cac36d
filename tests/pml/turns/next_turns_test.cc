// What is read next, behind an answer: with a format that strips contents, and one that writes an
// answer otherwise once others follow it.

#include "pml/turns/next_turns.h"

#include <catch2/catch.hpp>

#include "tests/support/expect.h"

namespace pc::pml {
namespace {

using test::must;

// An answer loses its thoughts when a turn of the user's follows; `first_changes`: so does the
// first turn its opening.
ChatFormat thoughtful(bool first_changes = false) {
  return {"thoughtful", [=](std::span<const Role> roles) -> Result<TurnTexts> {
            TurnTexts texts;
            for (std::size_t i = 0; i < roles.size(); ++i) {
              const bool first = first_changes && i == 0 && roles.size() > 2;
              if (roles[i] == Role::kUser)
                texts.turns.push_back({first ? "<U>" : "<u>", "</u>", true, true});
              else if (roles[i] == Role::kSystem)
                return error(Code::kPmlSemantic, "no system here");
              else
                texts.turns.push_back({"<a>", "</a>", true, true});
            }
            texts.answer = "<a>";
            return texts;
          }};
}

ChatFormat rewriting() {
  ChatFormat format = thoughtful();
  format.turns = [turns = format.turns](std::span<const Role> roles) {
    auto texts = turns(roles);
    texts->answer = "<a><think/>";
    return texts;
  };
  return format;
}

OpenChat one_user(const ChatFormat& format) {
  const std::vector<Role> roles = {Role::kUser};
  return {roles, must(format.turns(roles))};
}

std::string shown(const NextTurns& next) {
  std::string text;
  for (const auto& span : next.spans) text += span.markup ? span.text : "'" + span.text + "'";
  return text;
}

Answer said(std::string_view text, bool as_read = true) {
  return {text, text, as_read};
}

const std::vector<ChatTurn> kQuestion = {{Role::kUser, " And now? "}};

}  // namespace

TEST_CASE("what is read next: the answer's closing, the turns, the next answer's opening") {
  const ChatFormat format = thoughtful();
  const NextTurns next =
      must(next_turns(format, one_user(format), said("Six euros.", true), kQuestion));
  CHECK(next.keeps_answer);
  CHECK(shown(next) == "</a><u>'And now?'</u><a>");
  CHECK(next.chat.roles == std::vector{Role::kUser, Role::kAssistant, Role::kUser});
  // And on.
  const std::vector<ChatTurn> more = {
      {Role::kUser, "One"}, {Role::kAssistant, "Two"}, {Role::kUser, "Three"}};
  const NextTurns then = must(next_turns(format, next.chat, said("Seven.", true), more));
  CHECK(shown(then) == "</a><u>'One'</u><a>'Two'</a><u>'Three'</u><a>");
  CHECK(then.chat.texts.turns.size() == 7);
}

TEST_CASE("an answer that the format writes otherwise now is read again") {
  const ChatFormat format = rewriting();
  const NextTurns next = must(next_turns(format, one_user(format), said("Six.", true), kQuestion));
  CHECK_FALSE(next.keeps_answer);
  CHECK(shown(next) == "<a>'Six.'</a><u>'And now?'</u><a><think/>");
  const ChatFormat plain = thoughtful();
  // Not as it was read, and not as it was drawn: the format strips it.
  CHECK_FALSE(
      must(next_turns(plain, one_user(plain), said("Six.", false), kQuestion)).keeps_answer);
  const NextTurns stripped =
      must(next_turns(plain, one_user(plain), said("Six.\n", true), kQuestion));
  CHECK_FALSE(stripped.keeps_answer);
  CHECK(shown(stripped) == "<a>'Six.'</a><u>'And now?'</u><a>");
}

TEST_CASE("a space that the tokenizer adds may be the one that the format writes") {
  ChatFormat format = thoughtful();
  format.turns = [turns = format.turns](std::span<const Role> roles) {
    auto texts = turns(roles);
    for (TurnText& text : texts->turns)
      if (text.open == "<a>") text.open = " ";
    texts->answer = "";
    return texts;
  };
  const OpenChat chat = one_user(format);
  CHECK(must(next_turns(format, chat, {"Six.", " Six.", true}, kQuestion)).keeps_answer);
  CHECK_FALSE(must(next_turns(format, chat, {"Six.", "Six.", true}, kQuestion)).keeps_answer);
}

TEST_CASE("conversations that cannot go on say why") {
  const ChatFormat format = thoughtful();
  const OpenChat chat = one_user(format);
  test::expect_error(next_turns(format, chat, said("Six.", true), {}), Code::kInvalidArgument, 0, 0,
                     "ends with a turn of the user's");
  const std::vector<ChatTurn> answered = {{Role::kUser, "One"}, {Role::kAssistant, "Two"}};
  test::expect_error(next_turns(format, chat, said("Six.", true), answered), Code::kInvalidArgument,
                     0, 0, "ends with a turn of the user's");
  const std::vector<ChatTurn> system = {{Role::kSystem, "Be brief."}, {Role::kUser, "One"}};
  test::expect_error(next_turns(format, chat, said("Six.", true), system), Code::kUnsupported, 0, 0,
                     "no system here");
  test::expect_error(next_turns(thoughtful(true), chat, said("Six.", true), kQuestion),
                     Code::kUnsupported, 0, 0, "writes the first turns otherwise");
}

}  // namespace pc::pml
