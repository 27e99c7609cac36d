// The answer that is drawn: from logits to a token, to text, until it is over.
//
// Owns what drawing wants, and what is ahead of it (drafts). Where a token was drawn, the model has
// yet to read it: unread() until it did. What an answer wants memory for is made before anything is
// computed for it (Room), so that begin() allocates nothing. What nobody can know before is the
// places that its constraint comes to, and how far it goes where the window slides: draw() makes
// room for these before it draws. So where memory is out nothing was drawn, and the next call draws
// the same. Knows no positions and no states; of the conversation, it looks up what may come next.
//
// Borrows the engine. Threads: one at a time; it calls the mask on the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/engine/engine.h"
#include "runtime/sampling/sampler.h"
#include "runtime/session/answer_constraint.h"
#include "runtime/session/drafter.h"
#include "runtime/session/session_options.h"
#include "runtime/session/session_stats.h"
#include "runtime/tokenizer/text/text_stream.h"

namespace pc {

class Answer {
 public:
  // None yet: begin() does.
  Answer(const Engine& engine, const AnswerOptions& options);

  struct Room {
    std::uint32_t max_tokens = 0;
    Tokens tokens;
    pml::Begins begins;
    TextStream text;
    AnswerConstraint constraint;
    std::vector<std::uint32_t> allowed;  // of draw()
    struct Otherwise {
      AnswerOptions options;
      Sampler sampler;
    };
    std::optional<Otherwise> otherwise;  // it is drawn so
  };
  // Of one from its beginning. otherwise: null, or how it is drawn.
  Room room(std::uint32_t max_tokens, pml::Begins begins, const AnswerOptions* otherwise) const;
  // Of one that keeps these tokens, and goes on behind them. Errors: kInvalidArgument where an
  // answer that is drawn so has not come that far: they are more than max_tokens, have a whole stop
  // string, or are not what the constraint allows.
  Result<Room> room_behind(std::span<const TokenId> kept, std::uint32_t max_tokens,
                           pml::Begins begins, const AnswerOptions* otherwise) const;
  // Another answer, or one that goes back. What stands before it was computed: nothing is unread.
  // Where it is drawn otherwise nothing is observed yet, but what is kept of it: true.
  bool begin(Room room);
  // Of a fork: the same, with its memory made.
  void continue_from(const Answer& other);

  // What the repetition penalty counts as said, and what it counts so no more.
  void observe(std::span<const TokenId> tokens);
  void forget(std::span<const TokenId> tokens);

  // What the next token is drawn from; [vocab_size] once something was computed.
  std::span<const float> logits() const { return logits_; }
  float* logits_to_compute();
  void swap_logits(std::vector<float>* logits) { logits_.swap(*logits); }

  // Drawn, and not computed yet; -1: there is none.
  TokenId unread() const { return unread_; }

  bool is_over() const { return stats_.finish != Finish::kNone; }
  // Nothing was drawn, not even its end; it may be over, where nothing was to be drawn.
  bool is_untouched() const {
    return tokens_.empty() && unread_ < 0 && stats_.finish != Finish::kEos;
  }
  bool is_full() const { return tokens_.size() >= max_tokens_; }
  std::size_t n_left() const { return max_tokens_ - tokens_.size(); }
  void end_at_once() { max_tokens_ = static_cast<std::uint32_t>(tokens_.size()); }

  // Nothing but the end can come by the constraint, and no token of the model's says it.
  bool is_whole();
  // The token at `at`, from the logits. A failure changes nothing, nor does what is thrown: by the
  // mask, or for want of memory. Errors: kCancelled by the mask; kInvalidArgument where no token
  // may be drawn.
  Status draw(const DrawPlace& at);
  // What was drawn becomes the answer's; nothing: it ended the turn. Allocates nothing.
  std::optional<TokenId> take_drawn();
  // Over, and what was held back of its text is certain.
  std::optional<TokenId> end(Finish how);
  // A call was cancelled, which left it as it was; and another call goes on.
  void cancel();
  void go_on();

  const Tokens& tokens() const { return tokens_; }  // all that was drawn of it, unread() last
  const std::string& text() const { return text_.text(); }  // what became certain by the last
  void no_text() { text_.clear(); }
  std::string whole_text() const;  // what text() gave of it in all, and what is still held back

  // ---- Tokens ahead

  // See Drafter.
  std::span<const TokenId> draft(const Conversation& conversation, std::size_t most,
                                 bool is_alone) noexcept;
  RowSink* draft_rows() { return drafter_.rows(); }
  // The step that read unread() is over, or failed.
  void end_step();
  void fail_step() { drafter_.fail(); }
  std::size_t n_ahead() const { return drafter_.n_ahead(); }
  std::optional<std::uint32_t> max_draft() const { return options_.max_draft; }
  bool is_drafted() const { return drafter_.is_next(unread_); }
  // unread(), the conversation's last by now, was computed before it was drawn.
  void take_drafted(const Conversation& conversation) noexcept;
  void learn_of_drafts() { drafter_.learn(); }
  void drop_drafts() { drafter_.drop(); }
  void forget_text() { drafter_.forget_text(); }

  const AnswerStats& stats() const { return stats_; }
  void count_decoding(std::uint64_t us) { stats_.decode_us += us; }

 private:
  void make_room();
  std::size_t n_lookup() const;
  void tell(Tokens* next, std::size_t most);

  const Engine* engine_;
  AnswerOptions options_;
  Sampler sampler_;
  pml::Begins begins_ = pml::Begins::kOwnText;
  TextStream text_;
  AnswerConstraint constraint_;
  std::vector<std::uint32_t> allowed_;  // a bit a token; empty without a mask and a constraint
  std::vector<float> logits_;
  TokenId unread_ = -1;
  std::uint32_t max_tokens_ = 0;
  Tokens tokens_;
  Drafter drafter_;
  AnswerStats stats_;
};

}  // namespace pc
