#include "runtime/prompt/written_chat.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "pml/turns/chat_pieces.h"
#include "runtime/chat/whole/format_chat.h"
#include "runtime/chat/whole/whole_chat.h"
#include "runtime/prompt/stand_in_tools.h"
#include "runtime/scheduler/stopwatch.h"
#include "runtime/schema/chat_stand_ins.h"

namespace pc {
namespace {

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

// BOS stands once, in front of every prompt of a tokenizer that adds it.
std::size_t bos_bytes(const Engine& engine, const ChatText& text) {
  if (!engine.text_encoder().bos || text.spans.empty() || !text.spans.front().markup) return 0;
  const std::string bos = engine.spelled_bos();
  return text.spans.front().text.starts_with(bos) ? bos.size() : 0;
}

std::size_t n_head(const ChatText& text, ChatModules modules) {
  if (modules == ChatModules::kNone) return 0;
  return modules == ChatModules::kApart ? text.n_opening : text.n_head;
}

// Joined where no border of what is asked for is between them.
struct Pieces {
  std::vector<pml::ChatPiece> all;
  std::size_t n_head = 0;
};

Pieces pieces_of(const ChatText& text, std::size_t bos, ChatModules modules) {
  Pieces pieces;
  const std::size_t head = n_head(text, modules);
  for (std::size_t i = 0; i < text.spans.size(); ++i) {
    const ChatSpan& span = text.spans[i];
    const std::uint32_t module = modules == ChatModules::kNone ? ChatSpan::kNoModule : span.module;
    const std::string_view words = std::string_view(span.text).substr(i == 0 ? bos : 0);
    if (words.empty()) continue;
    const bool joins = !pieces.all.empty() && i != head &&
                       pieces.all.back().markup == span.markup &&
                       pieces.all.back().module == module;
    if (joins)
      pieces.all.back().text += words;
    else
      pieces.all.push_back({std::string(words), span.markup, module});
    if (i < head) pieces.n_head = pieces.all.size();
  }
  return pieces;
}

std::string text_in(const pml::SchemaNode& module) {
  std::string text;
  for (const pml::SchemaNode& node : module.children) text += node.text;
  return text;
}

// The text in front of all modules and the longest of these, each span as long as `size` says.
template <class Size>
std::size_t longest_pass(const ChatText& text, const Size& size) {
  std::map<std::uint32_t, std::size_t> modules;  // the size of each
  std::size_t front = 0, longest = 0;
  for (const ChatSpan& span : text.spans) {
    if (span.module != ChatSpan::kNoModule)
      longest = std::max(longest, modules[span.module] += size(span));
    else if (modules.empty())
      front += size(span);
  }
  return front + longest;
}

// A module's text as its tokens spell it, which is not always what was said: SentencePiece puts a
// space in front, and a normaliser changes letters. So it is recorded once the module is encoded.
std::string as_spelled(const Engine& engine, const std::string& text) {
  const auto tokens = engine.text_encoder().text(text);
  if (!tokens.ok()) return text;
  std::string spelled;
  for (const TokenId token : *tokens) engine.tokenizer().append_bytes(token, &spelled);
  return spelled;
}

// Is the record of this module's text, all of it or its beginning?
bool is_record_of(std::string_view spelled, std::string_view record) {
  constexpr std::size_t kMostCutOff = 3;  // bytes, of a character that the limit divides
  const bool may_be_cut = record.size() + kMostCutOff >= kMostStandInBytes;
  spelled = trim_begin(spelled), record = trim_begin(record);
  return spelled == record || (may_be_cut && spelled.starts_with(record));
}

}  // namespace

Result<std::shared_ptr<const WrittenChat>> WrittenChat::write(
    std::shared_ptr<const Engine> engine, const ChatRequest& chat,
    std::optional<std::string> name_space) {
  const Stopwatch watch;
  const std::shared_ptr<WrittenChat> written(new WrittenChat);
  PC_TRY(written->repair_, pml::parse_repair(chat.repair));
  PC_TRY(written->text_, text_of(*engine, chat));
  written->bos_ = bos_bytes(*engine, written->text_);
  written->ends_in_answer_ = chat.continues_last && !chat.messages.back().text().empty();
  written->has_tools_alone_ = has_tools_alone(chat);
  written->engine_ = std::move(engine);
  written->name_space_ = std::move(name_space);
  written->write_us_ = watch.microseconds();
  return std::shared_ptr<const WrittenChat>(written);
}

// What the pass that encodes the conversation's longest module leaves of the window: it has the
// text in front of all modules, the stand-ins and the module. A token stands for a byte at least,
// so that where bytes leave `wanted` tokens need not be counted.
std::size_t WrittenChat::room_left(std::size_t wanted) const {
  const std::size_t window = engine_->context_tokens();
  const auto n_bytes = [](const ChatSpan& span) { return span.text.size(); };
  const auto n_tokens = [this](const ChatSpan& span) {
    const auto tokens = engine_->text_encoder().text(span.text);
    return tokens.ok() ? tokens->size() : span.text.size();
  };
  const std::size_t most = longest_pass(text_, n_bytes);
  if (most + wanted <= window) return window - most;
  return window - std::min(window, longest_pass(text_, n_tokens));
}

// Those of other conversations, or, of tools, such as nobody has.
std::vector<std::string> WrittenChat::known_stand_ins() const {
  if (has_tools_alone_) return stand_in_tools(*engine_);
  ModuleIdentity of = engine_->base_identity();
  if (name_space_) of.name_space = *name_space_;
  return recall_stand_ins(chat_stand_ins_key(of), engine_->store()->options().dir);
}

// All conversations have the same ones in mind, what fits a part of the window, and of those the
// first for which this one leaves room: so that a slot's states are the same in all, and those of
// conversations with more modules serve here.
std::vector<std::string> WrittenChat::stand_ins_for(const pml::Schema& schema) const {
  constexpr std::size_t kShare = 4;
  std::vector<std::string> mine, chosen;
  for (const pml::SchemaNode& node : schema.children)
    if (node.kind == pml::SchemaNode::Kind::kModule) mine.push_back(text_in(node));
  if (mine.size() < 2 || !engine_->store() || !engine_->model().relocates()) return chosen;
  std::vector<std::string> others = known_stand_ins();
  if (others.empty()) return chosen;
  for (std::string& text : mine) text = as_spelled(*engine_, text);
  std::size_t share = engine_->context_tokens() / kShare, room = room_left(share);
  for (std::string& text : others) {
    const auto tokens = engine_->text_encoder().text(text);
    if (!tokens.ok() || tokens->size() > share) continue;
    share -= tokens->size();
    const auto says_it = [&](const std::string& module) { return is_record_of(module, text); };
    if (std::ranges::any_of(mine, says_it)) continue;
    if (tokens->size() > room) break;
    room -= tokens->size();
    chosen.push_back(std::move(text));
  }
  return chosen;
}

Result<std::shared_ptr<const LoadedPrompt>> WrittenChat::prompt(ChatModules modules,
                                                                bool in_slots) const {
  const Stopwatch watch;
  const Pieces pieces = pieces_of(text_, bos_, modules);
  std::vector<std::string> remarks;
  if (modules != ChatModules::kNone) remarks = text_.remarks;
  for (const pml::ChatPiece& piece : pieces.all)
    if (piece.module != ChatSpan::kNoModule)
      remark_unspelled(engine_->tokenizer(), piece.text, &remarks);
  auto [schema, prompt] = pml::chat_of_pieces(pieces.all, pieces.n_head);
  schema.repair = repair_;
  if (in_slots) {
    for (std::string& text : stand_ins_for(schema))
      schema.stand_ins.push_back({{}, std::move(text)});
    if (!schema.stand_ins.empty()) schema.attend = pml::Attend::kSlots;
  }
  const bool offers = in_slots && !has_tools_alone_;
  PC_TRY(auto loaded, LoadedSchema::of(engine_, std::move(schema), name_space_, offers));
  return LoadedPrompt::of_chat(std::move(loaded), std::move(prompt), ends_in_answer_,
                               std::move(remarks), write_us_ + watch.microseconds());
}

}  // namespace pc
