#include "pml/turns/next_turns.h"

#include <algorithm>
#include <utility>

#include "pml/syntax/elements.h"  // kWhiteSpace

namespace pc::pml {
namespace {

// A content as the format writes it.
std::string_view trimmed(std::string_view content, const TurnText& text) {
  if (text.trims_left)
    content.remove_prefix(std::min(content.find_first_not_of(kWhiteSpace), content.size()));
  if (text.trims_right) content = content.substr(0, content.find_last_not_of(kWhiteSpace) + 1);
  return content;
}

// Is what the model has read, `opening` and the answer, what the format writes of it now? The
// space that a tokenizer adds may be one that the format writes (Llama 2).
bool reads_alike(const std::string& opening, const Answer& answer, const std::string& open,
                 std::string_view said) {
  if (opening == open && answer.text == said) return true;
  return opening + std::string(answer.bytes) == open + std::string(said);
}

}  // namespace

Result<NextTurns> next_turns(const ChatFormat& format, const OpenChat& chat, const Answer& answer,
                             std::span<const ChatTurn> turns) {
  if (turns.empty() || turns.back().role != Role::kUser)
    return error(Code::kInvalidArgument,
                 "what goes on behind an answer ends with a turn of the user's");
  NextTurns next;
  next.chat.roles = chat.roles;
  next.chat.roles.push_back(Role::kAssistant);
  for (const ChatTurn& turn : turns) next.chat.roles.push_back(turn.role);
  auto texts = format.turns(next.chat.roles);
  if (!texts.ok())
    return error(Code::kUnsupported,
                 "the model's chat format has no such conversation: " + texts.error().message);
  next.chat.texts = std::move(texts).value();
  const std::vector<TurnText>& all = next.chat.texts.turns;
  const std::size_t n_before = chat.roles.size();
  if (!std::equal(chat.texts.turns.begin(), chat.texts.turns.end(), all.begin()))
    return error(Code::kUnsupported,
                 "the model's chat format writes the first turns otherwise now that the "
                 "conversation goes on; open a session with all of it");

  const auto add = [&](std::string_view text, bool markup) {
    if (!text.empty()) next.spans.push_back({std::string(text), markup});
  };
  const TurnText& answered = all[n_before];
  const std::string_view said = trimmed(answer.text, answered);
  next.keeps_answer = answer.as_read && reads_alike(chat.texts.answer, answer, answered.open, said);
  if (!next.keeps_answer) {
    if (n_before > 0) next.before = all[n_before - 1].close;
    add(answered.open, true);
    add(said, false);
  }
  add(answered.close, true);
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const TurnText& text = all[n_before + 1 + i];
    add(text.open, true);
    const std::string_view content = trimmed(turns[i].content, text);
    if (i == 0 && !content.empty()) next.said = next.spans.size();
    add(content, false);
    add(text.close, true);
  }
  add(next.chat.texts.answer, true);
  return next;
}

}  // namespace pc::pml
