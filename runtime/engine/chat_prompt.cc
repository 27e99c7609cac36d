#include "runtime/engine/chat_prompt.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "pml/chat_pieces.h"
#include "runtime/chat/chat_request.h"
#include "runtime/chat/whole_chat.h"
#include "runtime/engine/stopwatch.h"

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
    if (first != text_.spans.end())
      text_.n_head = static_cast<std::size_t>(first - text_.spans.begin());
    return std::move(text_);
  }

 private:
  ChatText text_;
  std::uint32_t n_modules_ = 0;
};

// By a format of the table, which knows three roles and no tools.
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

// BOS stands once, in front of every prompt of a tokenizer that adds it.
void drop_bos(const Engine& engine, ChatText* text) {
  if (!engine.text_encoder().bos || text->spans.empty()) return;
  ChatSpan& first = text->spans.front();
  const std::string bos = engine.spelled_bos();
  if (!first.markup || bos.empty() || !first.text.starts_with(bos)) return;
  first.text.erase(0, bos.size());
  if (!first.text.empty()) return;
  text->spans.erase(text->spans.begin());
  text->n_head -= std::min<std::size_t>(text->n_head, 1);
}

Result<ChatText> text_of(const Engine& engine, const ChatRequest& chat) {
  if (engine.whole_chat()) {
    return engine.whole_chat()->write(chat, [&](std::string_view text, std::size_t from) {
      return engine.tokenizer().find_control(text, from);
    });
  }
  const auto& format = engine.text_encoder().chat;
  if (!format)
    return error(Code::kUnsupported,
                 "the model's files bring no chat template that can be used; name a format "
                 "(--chat-template)");
  return text_of_format(*format, chat);
}

}  // namespace

Result<ChatText> text_of_chat(const Engine& engine, std::string_view json) {
  PC_TRY(const ChatRequest chat, read_chat(json));
  return text_of(engine, chat);
}

Result<std::shared_ptr<const LoadedPrompt>> prompt_of_chat(
    std::shared_ptr<const Engine> engine, std::string_view json,
    const std::optional<std::string>& name_space) {
  const Stopwatch watch;
  PC_TRY(const ChatRequest chat, read_chat(json));
  PC_TRY(const pml::Repair repair, pml::parse_repair(chat.repair));
  PC_TRY(ChatText text, text_of(*engine, chat));
  drop_bos(*engine, &text);
  for (const ChatSpan& span : text.spans)
    if (span.module != ChatSpan::kNoModule)
      remark_unspelled(engine->tokenizer(), span.text, &text.remarks);
  std::vector<pml::ChatPiece> pieces;
  for (ChatSpan& span : text.spans)
    pieces.push_back({std::move(span.text), span.markup, span.module});
  auto [schema, prompt] = pml::chat_of_pieces(pieces, text.n_head);
  schema.repair = repair;
  PC_TRY(auto loaded, LoadedSchema::of(std::move(engine), std::move(schema), name_space));
  return LoadedPrompt::of_chat(std::move(loaded), std::move(prompt), std::move(text.remarks),
                               watch.microseconds());
}

}  // namespace pc
