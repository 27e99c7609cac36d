#include "runtime/chat/turns/turn_texts.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/chat/turns/marked_conversation.h"

namespace pc {
namespace {

using Strings = std::vector<std::string>;

// Turns of one conversation. The template is run for each of its beginnings, so the
// work of the first time grows with the square: these take five to ten seconds.
constexpr std::size_t kMaxTurns = 2048;
static_assert(kMaxTurns <= MarkedConversation::kMaxTurns);

// Where there is white space around a content, its sides differ in length, so that what a
// template kept of them is never in doubt.
constexpr std::string_view kStem = "quorvexil", kOtherStem = "zumbrakoltifenhadj";
constexpr Marks kPlain = {kStem};
// What a template that escapes, folds or replaces would not leave as it is.
constexpr Marks kOdd = {kOtherStem, "", "", "\n\n\n  \t\r\n\"'\\\\n{}%&<>|\u00e9\u6f22\U0001F600 "};
constexpr Marks kSpaces = {kStem, " \n ", " \n\n  "};      // outermost: spaces
constexpr Marks kLineEnds = {kStem, "\n \n", "\n  \n\n"};  // outermost: line ends

// The cuts of all turns, as the conversation ends with them and as an answer is to follow.
struct Cuts {
  Strings ended, asked;  // [n_turns + 1]
};

Result<Cuts> cuts_of(const MarkedConversation& marked) {
  const AskedTurns& conversation = marked.conversation();
  PC_TRY(Strings ended, marked.cut(conversation.n(), false));
  PC_TRY(Strings asked, marked.cut(conversation.n(), true));
  for (std::size_t i = 0; i < conversation.n(); ++i) {
    if (ended[i] != asked[i])
      return conversation.refuse(i, "writes otherwise, where an answer is to follow, what opens");
  }
  return Cuts{std::move(ended), std::move(asked)};
}

// The beginning that two texts behind a turn share, up to the end of a line or of a
// tag: what closes the turn whatever follows it.
std::string_view shared_closing(std::string_view a, std::string_view b) {
  const auto [end, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  const std::string_view shared = a.substr(0, static_cast<std::size_t>(end - a.begin()));
  return shared.size() < a.size() ? shared.substr(0, shared.find_last_of(">]\n") + 1) : shared;
}

// The strings before turns are told from their closings: all that stands between two turns
// is the opening of the second.
pml::TurnTexts unsplit_texts(const AskedTurns& conversation, const Cuts& cuts) {
  pml::TurnTexts texts;
  texts.turns.resize(conversation.n());
  for (std::size_t i = 0; i < conversation.n(); ++i) texts.turns[i].open = cuts.ended[i];
  const std::string &closing = cuts.ended.back(), &opening = cuts.asked.back();
  const bool fits = opening.starts_with(closing);
  const bool is_answered = conversation.turns.back() == pml::Role::kAssistant;
  std::string& close = texts.turns.back().close;
  close = fits || is_answered ? closing : shared_closing(closing, opening);
  texts.answer = !fits && is_answered ? "" : opening.substr(close.size());
  const std::string& bos = conversation.program.tokens().bos;
  std::string& first = texts.turns[0].open;
  texts.bos = !bos.empty() && first.starts_with(bos);
  if (texts.bos) first.erase(0, bos.size());
  return texts;
}

// How the template ends the conversation behind each of its turns, `last` behind the last.
Endings endings_of(const MarkedConversation& marked, Contents contents, const std::string& last,
                   RememberedEndings* remembered) {
  const auto turns = marked.conversation().turns;
  Endings endings = remembered->find(turns, contents);
  for (std::size_t i = 1; i <= turns.size(); ++i) {
    if (endings[i - 1]) continue;
    Ending ending;
    if (i == turns.size()) {
      ending = last;
    } else if (auto alone = marked.cut(i, false); alone.ok()) {
      ending = std::move(alone->back());
    }
    endings[i - 1] = std::make_shared<const Ending>(std::move(ending));
  }
  remembered->add(turns, contents, endings);
  return endings;
}

// What stands between two turns as the closing of the first and the opening of the second.
void split(const Ending& ending, pml::TurnText* first, pml::TurnText* second) {
  const std::string between = std::move(second->open);
  const std::string_view closing = ending ? shared_closing(*ending, between) : "";
  const bool fits = !closing.empty() || (ending && ending->empty());
  first->close = fits ? closing : between;
  second->open = between.substr(first->close.size());
}

void split_all(const Endings& endings, pml::TurnTexts* texts) {
  for (std::size_t i = 1; i < endings.size(); ++i)
    split(*endings[i - 1], &texts->turns[i - 1], &texts->turns[i]);
}

struct Trims {
  std::vector<bool> left, right;  // [n_turns]
  friend bool operator==(const Trims&, const Trims&) = default;
};

// Which ends of contents the template stripped of the white space around these marks.
Result<Trims> trims_of(const AskedTurns& conversation, const Marks& marks, bool in_parts,
                       const Strings& plain) {
  PC_TRY(const auto marked, MarkedConversation::make(conversation, marks, in_parts));
  const std::size_t n = conversation.n();
  PC_TRY(const Strings wide, marked.cut(n, true));
  Trims trims{std::vector<bool>(n), std::vector<bool>(n)};
  for (std::size_t i = 0; i <= n; ++i) {
    bool found = false;
    for (const bool keeps_right : {true, false}) {
      for (const bool keeps_left : {true, false}) {
        if ((i == 0 && keeps_right) || (i == n && keeps_left)) continue;
        const std::string expected = std::string(keeps_right ? marks.right : "") + plain[i] +
                                     std::string(keeps_left ? marks.left : "");
        if (found || wide[i] != expected) continue;
        found = true;
        if (i > 0) trims.right[i - 1] = !keeps_right;
        if (i < n) trims.left[i] = !keeps_left;
      }
    }
    if (!found)
      return conversation.refuse(i == n ? i - 1 : i,
                                 "changes white space at the ends of texts near");
  }
  return trims;
}

Result<Trims> trims_of(const AskedTurns& conversation, bool in_parts, const Strings& plain) {
  PC_TRY(Trims trims, trims_of(conversation, kSpaces, in_parts, plain));
  PC_TRY(const Trims by_lines, trims_of(conversation, kLineEnds, in_parts, plain));
  if (trims != by_lines)
    return error(Code::kUnsupported,
                 "the model's chat template strips some white space from texts, and keeps other");
  return trims;
}

Error depends_on_texts() {
  return error(Code::kUnsupported,
               "the model's chat template writes around a turn what depends on the turn's text");
}

// The endings come last: they are what takes renderings by the number of turns.
Result<pml::TurnTexts> texts_of(const AskedTurns& conversation, bool in_parts,
                                RememberedEndings* remembered) {
  PC_TRY(const auto plain, MarkedConversation::make(conversation, kPlain, in_parts));
  PC_TRY(const auto odd, MarkedConversation::make(conversation, kOdd, in_parts));
  PC_TRY(const Cuts cuts, cuts_of(plain));
  PC_TRY(const Cuts odd_cuts, cuts_of(odd));
  pml::TurnTexts texts = unsplit_texts(conversation, cuts);
  pml::TurnTexts others = unsplit_texts(conversation, odd_cuts);
  if (texts != others) return depends_on_texts();
  PC_TRY(const Trims trims, trims_of(conversation, in_parts, cuts.asked));
  split_all(endings_of(plain, {false, in_parts}, cuts.ended.back(), remembered), &texts);
  split_all(endings_of(odd, {true, in_parts}, odd_cuts.ended.back(), remembered), &others);
  if (texts != others) return depends_on_texts();
  for (std::size_t i = 0; i < conversation.n(); ++i) {
    texts.turns[i].trims_left = trims.left[i];
    texts.turns[i].trims_right = trims.right[i];
  }
  return texts;
}

}  // namespace

Result<pml::TurnTexts> turn_texts(const ChatProgram& program, std::span<const pml::Role> turns,
                                  const ChatOptions& options, RememberedEndings* remembered) {
  if (turns.empty()) return pml::TurnTexts();
  if (turns.size() > kMaxTurns)
    return error(Code::kUnsupported,
                 "a conversation of " + std::to_string(turns.size()) +
                     " turns is too long for the model's own chat template, which is run for at "
                     "most " +
                     std::to_string(kMaxTurns) + "; name a format (--chat-template)");
  const AskedTurns conversation{program, turns, options};
  auto texts = texts_of(conversation, false, remembered);
  if (texts.ok()) return texts;
  // Some templates take contents as lists of parts alone.
  auto from_parts = texts_of(conversation, true, remembered);
  return from_parts.ok() ? std::move(from_parts) : std::move(texts);
}

Result<pml::TurnTexts> turn_texts(const ChatProgram& program, std::span<const pml::Role> turns,
                                  const ChatOptions& options) {
  RememberedEndings none;
  return turn_texts(program, turns, options, &none);
}

}  // namespace pc
