// One conversation: a plan computed over pinned modules, then token after token; and, where the
// prompt's turns are a chat, further turns and further answers behind them.
//
// Owns a timeline, a sampler and its text; the engine's scheduler computes. next() allocates
// nothing but a page of states and a link's tokens every so many, and what drafts want. Pins the
// modules it uses. Where a plug-in computes, is not required, and has no memory for the prompt or
// for what comes behind it, the engine's CPU computes the session from then on, and the log says so
// (runtime/session/session_moves.cc). Threads: one at a time, but cancel() from any thread or
// signal handler.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "pml/turns/next_turns.h"
#include "runtime/prompt/chain.h"
#include "runtime/prompt/link_search.h"
#include "runtime/prompt/loaded_prompt.h"
#include "runtime/sampling/draft_length.h"
#include "runtime/sampling/drafts.h"
#include "runtime/sampling/prompt_lookup.h"
#include "runtime/sampling/prompt_scores.h"
#include "runtime/sampling/sampler.h"
#include "runtime/scheduler/stopwatch.h"
#include "runtime/scheduler/task.h"
#include "runtime/session/turn_plan.h"
#include "runtime/session/window_slide.h"
#include "runtime/tokenizer/text/text_stream.h"

namespace pc {

// What becomes of a conversation at the end of its window.
enum class Overflow : std::uint32_t {
  kStop,   // turns that do not fit are refused, and an answer ends
  kSlide,  // the oldest turns go, and it goes on (docs/adr/0041-chats-without-an-end.md)
};

struct SessionOptions {
  // 0: the prompt is computed, nothing is drawn. None: 256, or less where the context ends before.
  std::optional<std::uint32_t> max_tokens = {};
  bool cut_to_window = false;  // or less, whatever max_tokens is
  Overflow overflow = Overflow::kStop;
  bool no_reuse = false;                   // compute every token of the prompt
  bool moves = false;                      // as LinkLimits has it
  std::optional<pml::Repair> repair = {};  // none: what the prompt or its schema says
  // In a check of answers: what modules have that say nothing themselves, whatever the schema and
  // the prompt say; with it, repair is none.
  std::optional<pml::Repair> checked_repair = {};
  SamplerOptions sampler;
  // Null, or called before each token is drawn, on the caller's thread: clears the bits of tokens
  // that may not be drawn, 32 a word, all set before. False: the call ends with kCancelled.
  std::function<bool(std::span<std::uint32_t> allowed)> mask;
  // Null, or called now and then while a prompt or appended turns are computed, on the caller's
  // thread. False: as cancel().
  std::function<bool(std::uint64_t n_done, std::uint64_t n_tokens)> progress;
  std::vector<std::string> stop;
  Tokenizer::Controls controls = Tokenizer::Controls::kHide;  // that the answer has, in its text
  // None, or what is told of the prompt's tokens. The tokens from the one before the first that is
  // scored are computed, whatever the store has: modules are used where all of them stand before
  // it.
  std::optional<PromptScoring> scoring = {};
  // Tokens that are computed beside the one drawn last, at most, where the text is likely to go on
  // with them: that changes when tokens come, and not which. None: DraftLength's choice; 0: none.
  std::optional<std::uint32_t> max_draft = {};
  // Null, or called before the token that was drawn last is computed, on the caller's thread: what
  // is likely to follow it, if anything is; else that is looked up.
  std::function<void(Tokens* next, std::size_t most)> draft;
  std::string client;  // who asks: named clients take turns where they want more than a step has

  // Tokens of an answer that there must be room for.
  std::uint32_t least_answer() const {
    const std::uint32_t asked = max_tokens.value_or(1);
    const bool may_be_cut = cut_to_window || overflow == Overflow::kSlide;
    return may_be_cut ? std::min(asked, 1u) : asked;
  }
};

enum class Finish : std::uint32_t { kNone, kEos, kStop, kLength, kCancelled };

struct SessionStats {
  std::uint64_t prompt_tokens = 0, cached_tokens = 0, computed_tokens = 0, generated_tokens = 0;
  std::uint64_t chained_tokens = 0;   // of cached_tokens: from a chain, exact
  std::uint64_t moved_tokens = 0;     // of these: at a new place, approximate
  std::uint64_t encoded_tokens = 0;   // of cached_tokens: of modules that were encoded for it
  std::uint64_t repaired_tokens = 0;  // of computed_tokens: of modules
  std::uint64_t drafted_tokens = 0;   // computed before they were drawn, or others were
  std::uint64_t right_drafts = 0;     // of these, and of generated_tokens
  // Of the conversation, since it began: what went for others (kSlide), the oldest turns first.
  // What is computed behind is approximate.
  std::uint64_t dropped_tokens = 0, dropped_turns = 0;
  std::uint32_t modules_found = 0, modules_encoded = 0;
  std::uint64_t cached_bytes = 0;  // K/V of modules and links, used where it lies
  std::uint64_t plan_us = 0, lookup_us = 0, encode_us = 0, prefill_us = 0, ttft_us = 0,
                decode_us = 0;
  Finish finish = Finish::kNone;
  std::int32_t stop = -1;  // of SessionOptions::stop, the one that ended the answer; -1: none did
  TokenId end_token = -1;  // drawn, and ended the turn; -1: none did
};

class Session {
 public:
  // kContextFull with the numbers where prompt and answer do not fit. No work yet.
  static Result<std::unique_ptr<Session>> open(std::shared_ptr<const LoadedPrompt> prompt,
                                               const SessionOptions& options);

  // Modules, then the fresh tokens. Does nothing the second time; after a
  // failure it starts anew.
  Status prefill();

  // The next token, or nothing when the generation is over. text() is what
  // became certain by it, or at the end. A failed step ends the session: every
  // later call returns the same error; one that was cancelled is begun again. Where the mask stops
  // the call, or leaves no token, the next call draws again.
  Result<std::optional<TokenId>> next();
  const std::string& text() const { return text_.text(); }

  // What computes it: the one that it was opened with, or that one's CPU.
  const Engine& engine() const { return prompt_->schema->engine(); }
  const Engine& opened_with() const { return (asked_ ? asked_ : prompt_)->schema->engine(); }
  bool fell_back() const { return asked_ != nullptr; }

  // What next() of each would give, computed together, a step of it at most: nothing where a
  // session's prompt is longer than a step has room for, and is not computed yet. Modules that are
  // missing are encoded before the step. Each fails by itself.
  using Next = std::optional<Result<std::optional<TokenId>>>;
  static std::vector<Next> step(std::span<Session* const> sessions);

  // [vocab_size] from which the latest token was drawn, or the first will be.
  // Empty before prefill().
  std::span<const float> logits() const {
    return timeline_ ? std::span<const float>(logits_) : std::span<const float>();
  }

  // What the model makes of the prompt's tokens; null where it was not asked, or before prefill().
  const PromptScores* prompt_scores() const { return scores_.get(); }

  // The token that next() gave last, while logits() are those it was drawn from.
  std::optional<TokenId> drawn() const {
    return timeline_ && token_ >= 0 ? std::optional(token_) : std::nullopt;
  }

  // Goes on behind the answer, whether or not it is over: closes its turn, adds these, opens the
  // next answer's, and computes what is new of that; next() then gives the next answer. What the
  // conversation has seen stays, the answer as it was drawn, except where the chat format writes
  // an answer otherwise once turns follow it. stats() are of these turns from then on. A failure
  // leaves the session as it was, a cancellation too.
  // Errors: kInvalidArgument where no answer's turn is open; those of pml::next_turns;
  // kContextFull.
  // Modules in them are attached, as a prompt with all of the conversation would have them; where
  // the schema has them elsewhere than behind the answer, or the format writes that otherwise,
  // kUnsupported.
  Status append(std::vector<pml::PromptNode> turns);
  Status append(std::span<const pml::ChatTurn> turns);  // of text alone
  Status append_pml(std::string_view pml);              // the turns of a prompt

  // Goes on behind all text, an answer included, in no turn.
  Status append_text(std::string_view text);
  Status append_tokens(std::span<const TokenId> tokens);  // the same with tokens as they are

  // Another session that has seen, said and drawn the same.
  Result<std::unique_ptr<Session>> fork() const;

  Position position() const { return position_; }  // of the next token to be computed

  // Goes back to `position`, in an answer or at its beginning: next() goes on from there, with
  // other draws. What was drawn behind it is forgotten, and so are turns. A failure leaves the
  // session as it was. stats() are of what comes from then on. Errors: kInvalidArgument where no
  // answer has that position.
  Status rewind(Position position);

  // Puts what it computed itself into the store, as links of a chain: whoever asks for a prompt
  // that begins with the same finds it, after a restart as well. Nothing is computed but the
  // answer's last token where that is not yet. Gives the tokens of the conversation that the
  // store was given or had, modules included. Nothing is put there of a conversation with modules
  // (a schema's own text is one) that moved to the CPU: nobody has them attached as it saw them.
  // Errors: kUnsupported without a store; ModuleStore::publish's.
  Result<std::uint64_t> keep();

  // The running call returns kCancelled, or the next that computes, once: the session is then where
  // it was before that call, and any call goes on from there. Of a prompt that was not computed to
  // its end nothing is left but its modules. Safe in a signal handler.
  void cancel() { __atomic_store_n(&cancel_, 1, __ATOMIC_RELAXED); }
  const SessionStats& stats() const { return stats_; }

 private:
  Session(std::shared_ptr<const LoadedPrompt> prompt, const SessionOptions& options,
          std::optional<std::uint32_t> max_tokens);
  Status begin_computing();
  Status finish_computing();
  Status begin_task();
  Status finish_task();
  bool goes_to_cpu(const Status& computed) const;
  Status go_to_cpu(const Error& why);
  // op() once more where the plug-in has no memory for it: on the CPU.
  template <class Op>
  Status with_room(Op op) {
    PC_CHECK_OK(ready_to_go_on());  // which moves by itself
    const Status done = op();
    if (!goes_to_cpu(done)) return done;
    PC_CHECK_OK(go_to_cpu(done.error()));
    return op();
  }
  // A call of the application's. One behind a call that was cancelled goes on; what asked this one
  // to stop is done with, once it has.
  void begin_call() {
    if (stats_.finish == Finish::kCancelled) stats_.finish = Finish::kNone;
  }
  void end_call(bool was_cancelled) {
    if (was_cancelled) __atomic_store_n(&cancel_, 0, __ATOMIC_RELAXED);
  }
  template <class Op>
  auto call(Op op) -> decltype(op()) {
    begin_call();
    auto result = op();
    end_call(!result.ok() && result.error().code == Code::kCancelled);
    return result;
  }
  Result<std::optional<TokenId>> next_token();
  Result<std::uint64_t> keep_links();
  Result<Chain> chain_of_all(const ModuleIdentity& identity) const;
  void forget_states();
  Status begin_resuming();
  Status go_on(const std::vector<pml::PromptNode>& turns);
  Status go_on_text(std::string_view text);
  Status go_on_tokens(std::span<const TokenId> tokens);
  Status go_back(Position position);
  Status end_computing();
  Status begin_prefill();
  Status end_prefill(const Status& computed);
  Status begin_step(float* logits);
  Status end_step(const Status& computed);
  void look_up_drawn();
  std::size_t most_drafted() const;
  bool draft() noexcept;
  PromptLookup::Proposal proposal(std::size_t most);
  Result<bool> take_drafted();
  void learn_of_drafts();
  Status drop_drafts();
  Status check_drafted_logits();
  bool last_token_is_kept(bool ends_turn) const;
  Status step_unread_token();
  Next next_of_step();
  Error failed(const Error& error);
  Work work(BackendTimeline* timeline, std::span<const pc_run> runs, float* logits) const;
  Status pin_modules();
  void count_imports() const;
  bool has_repairs() const;
  Status put_repairs(std::span<PlacedRun> runs);
  Result<std::vector<Anew>> choose_anew(const BackendTimeline& timeline,
                                        std::vector<PlacedRun> runs) const;
  Status attach_modules(BackendTimeline* timeline, std::span<const Anew> anew);
  Result<Chain> attach_found(BackendTimeline* timeline, bool reuse, std::span<const Anew> anew);
  Status attach_links(BackendTimeline* timeline, FoundChain* found);
  Tokens prompt_tokens() const;
  std::optional<Position> first_row_wanted() const;
  bool may_reuse_modules() const;
  Status compute(BackendTimeline* timeline, std::span<const pc_run> runs, float* logits);
  Status compute(Task& task);
  Result<std::optional<TokenId>> draw_next();
  Status draw();
  Result<std::optional<TokenId>> take_drawn();
  std::uint32_t max_tokens_behind(Position position) const;
  Status ready_to_go_on();

  // What stands before an answer.
  struct Read {
    std::size_t n_said = 0;             // of said_
    std::size_t n_schema_runs = 0;      // see plan_turns
    std::uint64_t n_module_tokens = 0;  // attached from modules
    std::uint32_t n_attached = 0;       // to the timeline: links, too
  };
  // An answer, and the conversation that it belongs to.
  struct OpenAnswer {
    Position begin = 0;                           // of its first token
    std::optional<pml::OpenChat> chat = {};       // none: no answer's turn is open
    std::optional<std::uint32_t> n_opening = {};  // tokens that opened it
    Read read = {};
  };
  struct PastAnswer {
    OpenAnswer open;
    Position end = 0;  // of its last token, plus 1
  };
  // A module's run that turns brought.
  struct Import {
    Position position = 0;
    Tokens tokens;  // but those computed anew
  };
  // Where a turn of the user's begins to say something, and its number among the chat's turns: what
  // the format writes in front of one is what it writes in front of another.
  struct Cut {
    Position position = 0;
    std::size_t turn = 0;
  };
  // What goes where the window slides: the turns up to cuts_[n_cuts], and where that is not enough
  // what was said first behind them.
  struct Slide {
    Gone gone;
    std::size_t n_cuts = 0;
    bool takes_all = false;  // all turns, and what opens the next one, since what opened the first
                             // is in its place
  };
  // What is to be read next: so many tokens, of which the first open a turn; 0: that is not known.
  struct NextTokens {
    std::size_t n = 0, n_opening = 0;
  };
  // What goes on behind the answer, before it is computed.
  struct Appendix {
    Chain chain;                  // with it
    Tokens tokens;                // of all texts
    Tokens last;                  // of the last one
    Position begin = 0, end = 0;  // the first's, behind or in the place of the answer; the new end
    std::uint64_t n_seen = 0;     // tokens in front of these, the answer's last included
    bool keeps_answer = true;
    std::optional<Slide> slide = {};  // of what stands before it
    Position held_end = 0;            // of what the slide leaves
    std::optional<Cut> cut = {};      // of its first turn, if that is the user's
    Tokens unsaid = {};               // of an answer that goes
    // Where modules are among it: a fork that has them.
    std::optional<BackendTimeline> timeline = {};
    std::vector<Import> imports = {};
    std::size_t n_schema_runs = 0;
    SessionStats found = {};
    std::vector<pml::PromptNode> said = {};  // the answer, and the turns that come next
    Stopwatch watch = {};
  };
  Result<Appendix> plan_appendix(const pml::NextTurns& next, bool ends_turn) const;
  // opening: of the first of the turns.
  Result<Appendix> plan_imports(const std::vector<pml::PromptNode>& turns,
                                const std::string& answer, const std::string& opening);
  Result<ResidentHandle> acquire(SchemaModule& module, Encoder& encoder, SessionStats* found);
  Status place(std::span<const PlacedRun> runs, std::span<const Anew> anew,
               Appendix* appendix) const;
  Result<Appendix> begin_appendix(bool keeps_answer, NextTokens next) const;
  bool slides() const { return options_.overflow == Overflow::kSlide; }
  std::vector<Cut> cuts_of_prompt() const;
  std::vector<Stretch> stretches_between(Position begin, Position end) const;
  Position first_that_may_go() const;
  Result<Slide> choose_slide(Position end, std::uint64_t n_more, std::uint64_t n_opening) const;
  Result<Slid> slide_to(const Slide& slide, Position end) const;
  Result<bool> make_room();
  std::uint64_t forget(const Slide& slide, std::size_t next_turn, pml::OpenChat* chat);
  Result<Appendix> end_appendix(Appendix appendix, Position end) const;
  Status read_on(Appendix appendix, OpenAnswer open);
  void forget_from(Position position, const Tokens& computed);
  Status keep_link(Chain::Link* link, std::uint32_t first_token);
  std::string answer_text() const;
  // What an answer wants memory for.
  struct AnswerRoom {
    std::uint32_t max_tokens = 0;
    Tokens tokens;
    TextStream text;
  };
  AnswerRoom answer_room(std::uint32_t max_tokens) const;
  void begin_answer(AnswerRoom room);
  std::optional<TokenId> finish(Finish how);

  std::shared_ptr<const LoadedPrompt> prompt_;
  // Null, or what it was opened with, where the CPU computes it: text_ has its tokenizer.
  std::shared_ptr<const LoadedPrompt> asked_;
  SessionOptions options_;
  std::uint32_t max_tokens_ = 0;
  std::uint64_t client_;                    // 0: none is named
  std::vector<ResidentHandle> residents_;   // [plan.jobs]
  std::vector<bool> encoded_;               // [plan.jobs] for this session
  std::optional<pml::Repair> auto_repair_;  // once it was looked up
  std::optional<BackendTimeline> timeline_;
  Sampler sampler_;
  TextStream text_;
  std::vector<std::uint32_t> allowed_;  // a bit a token; empty without a mask
  std::vector<float> logits_;           // [vocab_size]
  TokenId token_ = -1;                  // drawn, not yet computed; -1: there is none
  Position position_;                   // of the next token

  // What task_ computes, while there is one: a prompt, or the token drawn last.
  struct Prefill {
    Stopwatch watch, compute_watch;
    Chain chain;
    BackendTimeline timeline;
    std::vector<pc_run> runs;
    std::shared_ptr<PromptScores> scores = {};
  };
  std::unique_ptr<Prefill> prefill_;
  std::optional<Stopwatch> begun_;  // when a prompt that is not computed yet was asked for
  bool resumes_ = false;            // chain_ is to be computed, on the CPU: there is no timeline
  bool saw_modules_ = false;        // that it had before it moved, and that are in chain_ now
  Stopwatch moves_;                 // since a move began
  pc_run step_run_{};
  std::optional<PromptLookup> lookup_;  // of this answer, from its first step on
  Tokens told_;                         // by options_.draft
  DraftLength draft_length_;
  Drafts drafts_;
  std::size_t draft_room_ = 0;  // tokens ahead that this step has room for
  bool is_ahead_ = false;       // the token drawn last was computed before it was drawn
  std::optional<Task> task_;
  Stopwatch step_watch_;
  std::uint64_t step_us_ = 0;  // of the token computed last, until the next one is drawn
  std::uint64_t move_us_ = 0;  // of a move that was waited for, until something counts it

  std::shared_ptr<const PromptScores> scores_;  // of the prompt, with all forks

  Chain chain_;                        // what the timeline computed, and links that it found
  std::vector<pml::PromptNode> said_;  // turns behind the prompt's own, answers too
  std::vector<Import> imports_;        // by position

  std::vector<Cut> cuts_;     // by position
  Position slid_ = 0;         // the window slid when this was the next position: nothing goes back
                              // before it
  bool lacks_begin_ = false;  // the window slid over the answer's own beginning
  std::uint64_t dropped_tokens_ = 0, dropped_turns_ = 0;

  OpenAnswer open_;
  std::vector<PastAnswer> past_;  // those that may be gone back to
  Tokens answer_;                 // all that was drawn of it, token_ last
  std::optional<Error> broken_;   // a step failed
  std::int32_t cancel_ = 0;       // by __atomic_* only: it crosses the C seam

  SessionStats stats_;
};

}  // namespace pc
