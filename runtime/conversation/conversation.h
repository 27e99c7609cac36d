// What was said in a session, whoever computes it: a prompt, and what was read and drawn behind it.
//
// A value, which a fork copies. It knows tokens and positions and no states: whoever has those says
// what was read, and asks here what is missing. What may fail is made beside it (Appendix, Return,
// Slide) and taken in once it is computed, without allocating: a call that fails leaves the
// conversation as it was.
//
// Keeps the prompt, its schema and its engine alive. Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "runtime/backend/backend_handle.h"  // AttachedTokens
#include "runtime/conversation/appendix.h"
#include "runtime/conversation/parts.h"
#include "runtime/prompt/chain.h"
#include "runtime/prompt/loaded_prompt.h"

namespace pc {

class Conversation {
 public:
  // Of a prompt that nobody has read yet.
  explicit Conversation(std::shared_ptr<const LoadedPrompt> prompt);

  const std::shared_ptr<const LoadedPrompt>& prompt() const { return prompt_; }
  const Engine& engine() const { return prompt_->schema->engine(); }
  const ModuleIdentity& identity() const { return prompt_->schema->identity(); }

  Position position() const { return position_; }  // of the next token
  const OpenAnswer& open() const { return open_; }
  std::span<const pml::PromptNode> said() const { return said_; }  // behind the prompt's own turns
  std::span<const Import> imports() const { return imports_; }     // by position
  const Dropped& dropped() const { return dropped_; }
  bool is_chat() const { return open_.chat || prompt_->is_chat; }
  // Was its prompt read? The chain of one that was is not empty.
  bool is_read() const { return !chain_.links().empty(); }
  // What it computes itself, and links that it found.
  const Chain& chain() const { return chain_; }
  Chain& chain() { return chain_; }
  // take(tokens) of each run of a module that is attached, as far as it is known where.
  template <class Take>
  void for_each_module(Take take) const {
    if (open_.read.n_module_tokens == 0) return;
    for (const pml::PlanRun& run : prompt_->plan.runs)
      if (run.kind == pml::RunKind::kCached) take(run.tokens);
    for (const Import& import : imports_) take(import.tokens);
  }
  std::uint64_t n_tokens() const { return open_.read.n_module_tokens + chain_.n_tokens(); }

  // All that is missing of the chain was computed; of a prompt that is read for the first time,
  // with so many tokens of modules and so many attachments.
  void read(Chain chain);
  void read_prompt(Chain chain, std::uint64_t n_module_tokens, std::uint32_t n_attached);

  // A token that was drawn stands at the end and is to be computed; then it was, or was not.
  // Allocates a link every so many.
  pc_run begin_token(TokenId token);
  void end_token();
  void take_back_token() { chain_.rewind(position_); }

  // What stands before something that goes on behind the answer, or in its place; where the window
  // slides for it, in what the slide leaves. drawn: of an answer that stays, what is not read yet,
  // or -1.
  Position end_before(bool keeps_answer) const;
  struct SlidTo {
    Slide slide;
    Chain chain;
  };
  Appendix begin_appendix(bool keeps_answer, TokenId drawn, std::optional<SlidTo> slid) const;
  // It was computed. prepare() allocates what append() wants.
  void prepare(const Appendix& appendix);
  void append(Appendix appendix, std::uint32_t n_attached);

  // Errors: kInvalidArgument where no answer has that position.
  Result<Return> back_to(Position position) const;
  void go_back(Return back);

  bool has_slid() const { return slid_ != 0; }
  // Must the window slide for n_more tokens behind what stands before `end`?
  bool wants_slide(Position end, std::uint64_t n_more) const;
  // Room for n_more tokens behind what stands before `end`. n_opening: of n_more, those that are
  // not read where all goes; 0: all may not go. attached: the timeline's. Errors: kContextFull;
  // kUnsupported where what was read cannot be moved.
  struct Wanted {
    Position end;
    std::uint64_t n_more, n_opening;
  };
  Result<Slide> choose_slide(std::span<const AttachedTokens> attached, const Wanted& wanted) const;
  // Amid an answer.
  void slide(const Slide& slide, Chain chain, std::uint32_t n_attached);

  // The same with this prompt, another engine's of the same text: one text to be computed, modules'
  // tokens in it. Errors: kInternal.
  Result<Conversation> on(std::shared_ptr<const LoadedPrompt> prompt) const;

 private:
  Tokens unsaid_from(Position position) const;
  std::vector<Stretch> stretches_between(std::span<const AttachedTokens> attached, Position begin,
                                         Position end) const;
  Position first_that_may_go() const;
  std::uint64_t forget(const Slide& slide, std::size_t next_turn, pml::OpenChat* chat);
  Result<Chain> as_one_text(const ModuleIdentity& identity) const;

  std::shared_ptr<const LoadedPrompt> prompt_;
  Position position_;
  Chain chain_;
  std::vector<pml::PromptNode> said_;
  std::vector<Import> imports_;
  OpenAnswer open_;
  std::vector<PastAnswer> past_;  // those that may be gone back to
  std::vector<Cut> cuts_;         // by position
  Position slid_ = 0;  // the window slid when this was the next position: nothing goes back before
  bool lacks_begin_ = false;  // the window slid over the answer's own beginning
  Dropped dropped_;
};

}  // namespace pc
