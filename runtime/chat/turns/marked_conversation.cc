#include "runtime/chat/turns/marked_conversation.h"

#include <utility>

#include "runtime/jinja/values/value.h"

namespace pc {
namespace {

using jinja::Value;

constexpr int kDigits = 4;  // of base 16: kMaxTurns

std::string_view name_of(pml::Role role) {
  constexpr std::string_view kNames[] = {"system", "user", "assistant"};
  return kNames[static_cast<std::size_t>(role)];
}

std::string mark_of(std::size_t turn, const Marks& marks) {
  std::string word(marks.stem);
  for (int digit = 0; digit < kDigits; ++digit, turn /= 16)
    word += static_cast<char>('a' + turn % 16);
  word += 'x';
  return marks.inside.empty() ? word : word + std::string(marks.inside) + word;
}

// The turn of a word that goes on so behind its stem; any number where it is no word.
std::size_t turn_of(std::string_view digits) {
  std::size_t turn = 0;
  for (std::size_t i = kDigits; i-- > 0;)
    turn = turn * 16 + static_cast<std::size_t>(i < digits.size() ? digits[i] - 'a' : 0);
  return turn;
}

Result<Value> object(std::vector<std::pair<Value, Value>> entries) {
  return jinja::make_dict(nullptr, std::move(entries));
}

Result<Value> content_of(std::string text, bool in_parts) {
  PC_TRY(Value plain, jinja::make_string(nullptr, std::move(text)));
  if (!in_parts) return plain;
  PC_TRY(Value part, object({{jinja::word("type"), jinja::word("text")},
                             {jinja::word("text"), std::move(plain)}}));
  return jinja::make_list(nullptr, {std::move(part)});
}

}  // namespace

Error AskedTurns::refuse(std::size_t turn, std::string_view what) const {
  return error(Code::kUnsupported, "the model's chat template " + std::string(what) + " turn " +
                                       std::to_string(turn + 1) + " (" +
                                       std::string(name_of(turns[turn])) + ")");
}

Result<MarkedConversation> MarkedConversation::make(const AskedTurns& conversation,
                                                    const Marks& marks, bool in_parts) {
  PC_EXPECT(conversation.n() <= kMaxTurns);
  MarkedConversation made(conversation, marks.stem);
  for (std::size_t i = 0; i < conversation.n(); ++i) {
    made.marks_.push_back(mark_of(i, marks));
    PC_TRY(
        Value content,
        content_of(std::string(marks.left) + made.marks_[i] + std::string(marks.right), in_parts));
    PC_TRY(Value message,
           object({{jinja::word("role"), jinja::word(name_of(conversation.turns[i]))},
                   {jinja::word("content"), std::move(content)}}));
    made.messages_.push_back(std::move(message));
  }
  return made;
}

// In one pass over the text, which is as long as the conversation.
std::vector<MarkedConversation::Found> MarkedConversation::find(std::string_view text,
                                                                std::size_t n_turns) const {
  std::vector<Found> found(n_turns);
  for (std::size_t at = text.find(stem_); at != text.npos; at = text.find(stem_, at + 1)) {
    const std::size_t turn = turn_of(text.substr(at + stem_.size(), kDigits));
    if (turn >= n_turns || !text.substr(at).starts_with(marks_[turn])) continue;
    if (found[turn].times++ == 0) found[turn].at = at;
  }
  return found;
}

Result<std::vector<std::string>> MarkedConversation::cut(std::size_t n_turns, bool answers) const {
  const auto first = messages_.begin();
  PC_TRY(const Value list,
         jinja::make_list(nullptr, {first, first + static_cast<std::ptrdiff_t>(n_turns)}));
  ChatOptions options = conversation_.options;
  options.add_generation_prompt = answers;
  PC_TRY(const std::string text, conversation_.program.render(list, jinja::none(), options));
  const std::vector<Found> found = find(text, n_turns);
  std::vector<std::string> parts;
  std::size_t end = 0;
  for (std::size_t i = 0; i < n_turns; ++i) {
    const auto [at, times] = found[i];
    if (times == 0) return conversation_.refuse(i, "leaves out or changes the text of");
    if (times > 1) return conversation_.refuse(i, "repeats the text of");
    if (at < end) return conversation_.refuse(i, "puts in front of the turn before it the text of");
    parts.push_back(text.substr(end, at - end));
    end = at + marks_[i].size();
  }
  parts.push_back(text.substr(end));
  return parts;
}

}  // namespace pc
