#include "runtime/session/appending.h"

#include <algorithm>
#include <utility>

#include "pml/turns/next_turns.h"
#include "runtime/conversation/next_text.h"

namespace pc {
namespace {

using Kind = pml::PromptNode::Kind;

bool has_import(const pml::PromptNode& turn) {
  return std::ranges::find(turn.children, Kind::kImport, &pml::PromptNode::kind) !=
         turn.children.end();
}

// The text of each turn.
Result<std::vector<std::string>> contents_of(const std::vector<pml::PromptNode>& turns) {
  std::vector<std::string> contents;
  for (const pml::PromptNode& turn : turns) {
    if (turn.kind != Kind::kRole)
      return Error{Code::kPmlSemantic, "what is appended stands in turns: <user>, <assistant>",
                   turn.place.line, turn.place.column};
    contents.emplace_back();
    for (const pml::PromptNode& node : turn.children)
      if (node.kind == Kind::kText) contents.back() += node.text;
  }
  return contents;
}

// What the chat format writes behind an answer with this text.
Result<pml::NextTurns> next_turns_of(const Before& before,
                                     const std::vector<pml::PromptNode>& turns,
                                     const std::string& answer) {
  const Conversation& conversation = before.conversation;
  if (!conversation.open().chat)
    return error(
        Code::kInvalidArgument,
        "no answer's turn is open to be followed by others: the prompt does not end with a "
        "turn of the user's, or text was appended since");
  PC_TRY(const std::vector<std::string> contents, contents_of(turns));
  std::vector<pml::ChatTurn> texts;
  for (std::size_t i = 0; i < turns.size(); ++i) texts.push_back({turns[i].role, contents[i]});
  std::string bytes;
  for (const TokenId token : before.answer.tokens())
    conversation.engine().tokenizer().append_bytes(token, &bytes);
  // What a stop string cut off was read by the model all the same.
  const bool as_read = before.answer.stats().finish != Finish::kStop;
  const pml::ChatFormat& format = *conversation.prompt()->schema->text_encoder().chat;
  PC_TRY(pml::NextTurns next,
         pml::next_turns(format, *conversation.open().chat, {answer, bytes, as_read}, texts));
  if (turns.front().role != pml::Role::kUser) next.said.reset();  // windows slide to a question
  return next;
}

// The tokens of what comes next behind the answer, or in its place. ends_turn: the answer's turn
// ends with it.
Result<Appending> plan_text(const Before& before, const pml::NextTurns& next, bool ends_turn) {
  PC_TRY(const NextText text, encode_next(before.conversation.engine(), next));
  PC_TRY(Appending appending, begin_appending(before, next.keeps_answer, text.n, text.n_opening));
  append_next(next, text, next.keeps_answer && ends_turn && !before.answer.tokens().empty(),
              &appending.appendix);
  PC_CHECK_OK(check_end(before, appending.appendix.end));
  return appending;
}

}  // namespace

pml::PromptNode text_turn(pml::Role role, std::string_view text) {
  pml::PromptNode turn, content;
  content.text = text;
  turn.kind = Kind::kRole;
  turn.role = role;
  turn.children.push_back(std::move(content));
  return turn;
}

Result<Slid> slide_to(const Conversation& conversation, const Run& run, const Slide& slide,
                      Position end) {
  return slide_window(
      {run.engine().backend(), conversation.identity(), run.timeline(), conversation.chain()},
      slide.gone, end);
}

Result<Appending> begin_appending(const Before& before, bool keeps_answer, std::size_t n,
                                  std::size_t n_opening) {
  const Conversation& conversation = before.conversation;
  const TokenId drawn = before.answer.unread();
  const std::uint64_t n_drawn = keeps_answer && drawn >= 0 ? 1 : 0;
  const std::uint64_t n_more = n + n_drawn + before.options.least_answer();
  const Position end = conversation.end_before(keeps_answer);
  if (!before.slides() || !conversation.wants_slide(end, n_more))
    return Appending{conversation.begin_appendix(keeps_answer, drawn, {})};
  PC_TRY(Slide slide,
         conversation.choose_slide(before.run.timeline().attached(),
                                   {end, n_more, n_opening != 0 ? n_opening + n_drawn : 0}));
  PC_TRY(Slid slid, slide_to(conversation, before.run, slide, end));
  Appending appending{conversation.begin_appendix(
      keeps_answer, drawn, Conversation::SlidTo{std::move(slide), std::move(slid.chain)})};
  appending.timeline = std::move(slid.timeline);
  return appending;
}

Status check_end(const Before& before, Position end) {
  const Engine& engine = before.conversation.engine();
  const std::uint64_t answer = before.options.least_answer(), window = engine.context_tokens();
  if (static_cast<std::uint64_t>(end) + answer <= window) return ok();
  return error(Code::kContextFull, "the conversation would end at position " + std::to_string(end) +
                                       " and its answer may take " + std::to_string(answer) +
                                       " tokens, but the context window has " +
                                       engine.context_words() +
                                       ": ask for fewer (max_tokens), begin another session, or "
                                       "open one whose window slides (overflow)");
}

Result<Appending> plan_appended_turns(const Before& before,
                                      const std::vector<pml::PromptNode>& turns) {
  const std::string answer = before.answer.whole_text();
  PC_TRY(pml::NextTurns next, next_turns_of(before, turns, answer));
  const bool imports = std::ranges::any_of(turns, has_import);
  if (!next.keeps_answer && (imports || !before.conversation.open().n_opening))
    return error(Code::kUnsupported,
                 "the model's chat format writes the answer otherwise now that the conversation "
                 "goes on, and " +
                     std::string(imports ? "modules follow it"
                                         : "its beginning shares a token with what stands before "
                                           "it") +
                     "; open a session with all of the conversation");
  const std::size_t first = next.chat.roles.size() - turns.size();
  const std::string& opening = next.chat.texts.turns[first].open;
  PC_TRY(Appending appending, imports ? plan_appended_modules(before, turns, answer, opening)
                                      : plan_text(before, next, true));
  Appendix& appendix = appending.appendix;
  appendix.open.n_opening = opening_tokens(before.conversation.engine().tokenizer(), appendix.last,
                                           next.chat.texts.answer);
  if (appendix.cut) appendix.cut->turn = first;
  appendix.open.chat = std::move(next.chat);
  appendix.open.begins = pml::Begins::kOwnText;
  appendix.said.push_back(text_turn(pml::Role::kAssistant, answer));
  appendix.said.insert(appendix.said.end(), turns.begin(), turns.end());
  return appending;
}

// What the answer's turn holds then is more than an answer.
Result<Appending> plan_appended_text(const Before& before, std::string_view text) {
  if (text.empty()) return error(Code::kInvalidArgument, "there is no text to append");
  pml::NextTurns next;
  next.keeps_answer = true;
  next.spans.push_back({std::string(text), false});
  return plan_text(before, next, false);
}

Result<Appending> plan_appended_tokens(const Before& before, std::span<const TokenId> tokens) {
  if (tokens.empty()) return error(Code::kInvalidArgument, "there are no tokens to append");
  const Engine& engine = before.conversation.engine();
  const std::uint32_t vocab_size = engine.model().desc.vocab_size;
  for (const TokenId token : tokens)
    if (token < 0 || static_cast<std::uint32_t>(token) >= vocab_size)
      return error(Code::kInvalidArgument, "token " + std::to_string(token) +
                                               " is outside the model's vocabulary of " +
                                               std::to_string(vocab_size));
  if (tokens.size() >= engine.context_tokens())
    return error(Code::kContextFull, std::to_string(tokens.size()) +
                                         " tokens do not fit the context window, which has " +
                                         std::to_string(engine.context_tokens()));
  PC_TRY(Appending appending, begin_appending(before, true, tokens.size()));
  appending.appendix.append({tokens.begin(), tokens.end()});
  PC_CHECK_OK(check_end(before, appending.appendix.end));
  return appending;
}

}  // namespace pc
