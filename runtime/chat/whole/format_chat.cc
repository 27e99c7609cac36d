#include "runtime/chat/whole/format_chat.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace pc {
namespace {

std::optional<pml::Role> role_of(const std::string& name) {
  for (const pml::Role role : {pml::Role::kSystem, pml::Role::kUser, pml::Role::kAssistant})
    if (name == pml::role_name(role)) return role;
  if (name == "developer") return pml::Role::kSystem;
  return std::nullopt;
}

Error cannot_write(const pml::ChatFormat& format, const std::string& what) {
  return error(Code::kUnsupported, "the chat format \"" + format.name + "\" writes no " + what +
                                       "; the template in a model's files may");
}

// The conversation's text in spans, and where its modules are.
class FormatText {
 public:
  void add(std::string_view text, bool markup, std::uint32_t module = ChatSpan::kNoModule) {
    if (!text.empty()) text_.spans.push_back({std::string(text), markup, module});
  }
  void add_message(const ChatMessage& message, const pml::TurnText& turn) {
    add(turn.open, true);
    const std::size_t first = text_.spans.size();
    for (const ChatPart& part : message.parts)
      add(part.text, false, part.is_module ? n_modules_++ : ChatSpan::kNoModule);
    if (turn.trims_left && first < text_.spans.size())
      text_.spans[first].text = trim_begin(text_.spans[first].text);
    if (turn.trims_right && first < text_.spans.size())
      text_.spans.back().text = trim_end(text_.spans.back().text);
    std::erase_if(text_.spans, [](const ChatSpan& span) { return span.text.empty(); });
  }
  // Of the modules all see the spans before the first one.
  ChatText take() {
    const auto first = std::ranges::find_if(
        text_.spans, [](const ChatSpan& span) { return span.module != ChatSpan::kNoModule; });
    if (first == text_.spans.end()) return std::move(text_);
    text_.n_head = static_cast<std::size_t>(first - text_.spans.begin());
    const bool opens = !text_.spans.front().text.empty() && text_.spans.front().markup;
    text_.n_opening = std::min<std::size_t>(text_.n_head, opens ? 1 : 0);
    return std::move(text_);
  }

 private:
  ChatText text_;
  std::uint32_t n_modules_ = 0;
};

}  // namespace

Result<ChatText> text_of_format(const pml::ChatFormat& format, const ChatRequest& chat) {
  if (!chat.tools.empty()) return cannot_write(format, "tools");
  std::vector<pml::Role> roles;
  for (const ChatMessage& message : chat.messages) {
    const auto role = role_of(message.role);
    if (!role) return cannot_write(format, "messages of the role " + message.role);
    roles.push_back(*role);
  }
  PC_TRY(const pml::TurnTexts texts, format.turns(roles));
  FormatText text;
  for (std::size_t i = 0; i < roles.size(); ++i) {
    text.add_message(chat.messages[i], texts.turns[i]);
    const bool goes_on = chat.continues_last && i + 1 == roles.size();
    if (!goes_on) text.add(texts.turns[i].close, true);
  }
  if (chat.opens_answer) text.add(texts.answer, true);
  return text.take();
}

}  // namespace pc
