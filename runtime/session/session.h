// One conversation: a plan computed over pinned modules, then token after token; and, where the
// prompt's turns are a chat, further turns and further answers behind them.
//
// The order of things, over three parts that do not know each other
// (docs/adr/0043-conversation-answer-run.md): what was said (Conversation), what is drawn (Answer),
// who computes it (Run). next() allocates nothing but a page of states and a link's tokens every so
// many, what drafts want, and what a constraint does of the places that it comes to. Pins the
// modules it uses. Where a plug-in computes, is not required, and has no memory for the prompt or
// for what comes behind it, the engine's CPU computes the session from then on, and the log says so
// (runtime/session/session_moves.cc). Threads: one at a time, but cancel() from any thread or
// signal handler.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "pml/turns/next_turns.h"
#include "runtime/conversation/conversation.h"
#include "runtime/prompt/asked_repairs.h"
#include "runtime/prompt/loaded_prompt.h"
#include "runtime/sampling/prompt_scores.h"
#include "runtime/scheduler/stopwatch.h"
#include "runtime/session/answer.h"
#include "runtime/session/appending.h"
#include "runtime/session/run.h"
#include "runtime/session/session_options.h"
#include "runtime/session/session_stats.h"

namespace pc {

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
  const std::string& text() const { return answer_.text(); }

  // What computes it: the one that it was opened with, or that one's CPU.
  const Engine& engine() const { return conversation_.engine(); }
  const Engine& opened_with() const { return asked_->schema->engine(); }
  bool fell_back() const { return conversation_.prompt() != asked_; }

  // What next() of each would give, computed together, a step of it at most: nothing where a
  // session's prompt is longer than a step has room for, and is not computed yet. Modules that are
  // missing are encoded before the step. Each fails by itself.
  using Next = std::optional<Result<std::optional<TokenId>>>;
  static std::vector<Next> step(std::span<Session* const> sessions);

  // [vocab_size] from which the latest token was drawn, or the first will be.
  // Empty before prefill().
  std::span<const float> logits() const {
    return run_.has_states() ? answer_.logits() : std::span<const float>();
  }

  // What the model makes of the prompt's tokens; null where it was not asked, or before prefill().
  const PromptScores* prompt_scores() const { return scores_.get(); }

  // The token that next() gave last, while logits() are those it was drawn from.
  std::optional<TokenId> drawn() const {
    return run_.has_states() && answer_.unread() >= 0 ? std::optional(answer_.unread())
                                                      : std::nullopt;
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

  // How answers are drawn from the next one on, which append() and rewind() begin; and the one at
  // hand, where nothing is drawn of it yet, which goes on where it was over because nothing was to
  // be drawn (max_tokens 0). A failure leaves the session as it was. Errors: of options, as open()
  // has them; kContextFull where there is no room for the one at hand.
  Status set_answer(const AnswerOptions& options);

  // Another session that has seen, said and drawn the same.
  Result<std::unique_ptr<Session>> fork() const;

  Position position() const {
    return conversation_.position();
  }  // of the next token to be computed

  // Goes back to `position`, in an answer or at its beginning: next() goes on from there, with
  // other draws. What was drawn behind it is forgotten, and so are turns. A failure leaves the
  // session as it was. stats() are of what comes from then on. Errors: kInvalidArgument where no
  // answer has that position, and where what it keeps of one does not fit its max_tokens, its stop
  // strings or its constraint, as set_answer() said them last; kContextFull where that wants more
  // than the window has.
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
  SessionStats stats() const { return {read_, answer_.stats(), conversation_.dropped()}; }

  // What a mask is told of who draws (DrawPlace): nothing until it is set, and in a fork.
  void set_owner(const void* owner) { owner_ = owner; }

 private:
  Session(std::shared_ptr<const LoadedPrompt> prompt, const SessionOptions& options);

  // A call of the application's. One behind a call that was cancelled goes on; what asked this one
  // to stop is done with, once it has.
  void begin_call() { answer_.go_on(); }
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
  Error failed(const Error& error);

  // A task of the run's: the prompt, the conversation behind a move, or the token drawn last.
  Status begin_task();
  Status begin_here();
  Status begin_reading();
  Status begin_step(bool draws);
  Status finish_tasks();
  Status finish_task();
  Status end_task();
  Status end_reading(Reading reading, const Status& computed);
  Status end_step(const Status& computed);
  bool reads_again() const { return run_.reads() && conversation_.is_read(); }

  Result<std::optional<TokenId>> next_token();
  Result<std::optional<TokenId>> draw_next();
  Next next_of_step();
  std::uint32_t max_tokens_behind(Position position, const SessionOptions& options) const;
  const AnswerOptions* otherwise() const { return draws_otherwise_ ? &options_ : nullptr; }
  Answer::Room answer_room(const OpenAnswer& open, Position begin) const;

  // Tokens ahead, and the window's end.
  std::size_t most_drafted() const;
  Result<bool> take_drafted();
  Status drop_drafts();
  Status check_drafted_logits();
  Result<bool> make_room();

  // What goes on behind what was said, or goes back. `plan` is what gives an Appending.
  Before before(const SessionOptions& options) {
    return {options, conversation_, answer_, run_, &repairs_};
  }
  Status ready_to_go_on();
  template <class Plan>
  Status go_on(Plan plan);
  Status read_on(Appending appending);
  Status go_back(Position position);
  void begin_answer(Answer::Room room);
  void forget_unread();
  Result<std::uint64_t> keep_all();
  Status step_unread_token();

  // Moves to the CPU.
  bool goes_to_cpu(const Status& computed) const;
  Status go_to_cpu(const Error& why);
  template <class Op>
  Status with_room(Op op);

  const std::shared_ptr<const LoadedPrompt> asked_;  // what it was opened with
  SessionOptions options_;                           // with those of the answer that begins next
  bool draws_otherwise_ = false;                     // than the one at hand
  const void* owner_ = nullptr;
  std::int32_t cancel_ = 0;  // by __atomic_* only: it crosses the C seam
  AskedRepairs repairs_;
  Conversation conversation_;
  Answer answer_;
  Run run_;
  std::optional<Error> broken_;  // a step failed

  std::size_t draft_room_ = 0;  // tokens ahead that this step has room for
  bool is_ahead_ = false;       // the token drawn last was computed before it was drawn

  std::optional<Stopwatch> begun_;  // since states were asked for that are not there yet
  Stopwatch step_watch_;
  std::uint64_t step_us_ = 0;  // of the token computed last, until the next one is drawn
  std::uint64_t move_us_ = 0;  // of a move that was waited for, until something counts it
  ReadStats read_;
  std::shared_ptr<const PromptScores> scores_;  // of the prompt, with all forks
};

}  // namespace pc
