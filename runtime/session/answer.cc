#include "runtime/session/answer.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/progress.h"  // cancelled

namespace pc {

Answer::Answer(const Engine& engine, const AnswerOptions& options)
    : engine_(&engine),
      options_(options),
      sampler_(options.sampler, engine.model().desc.vocab_size),
      text_(engine.tokenizer(), options.stop, begins_, options.controls) {}

bool Answer::begin(Room room) {
  unread_ = -1;
  max_tokens_ = room.max_tokens;
  tokens_ = std::move(room.tokens);
  begins_ = room.begins;
  text_ = std::move(room.text);
  constraint_ = std::move(room.constraint);
  allowed_ = std::move(room.allowed);
  if (room.otherwise) {
    sampler_ = std::move(room.otherwise->sampler);
    options_ = std::move(room.otherwise->options);
  }
  sampler_.begin_answer(tokens_);
  drafter_.forget_text();
  stats_ = {};
  return room.otherwise.has_value();
}

void Answer::continue_from(const Answer& other) {
  begin(room(other.max_tokens_, other.begins_, &other.options_));
  tokens_.assign(other.tokens_.begin(), other.tokens_.end());
  sampler_ = other.sampler_;
  text_ = other.text_;
  constraint_ = other.constraint_;
  logits_ = other.logits_;
  unread_ = other.unread_;
  drafter_.learn_from(other.drafter_);
  stats_ = other.stats_;
}

void Answer::observe(std::span<const TokenId> tokens) {
  for (const TokenId token : tokens) sampler_.observe(token);
}

void Answer::forget(std::span<const TokenId> tokens) {
  for (const TokenId token : tokens) sampler_.forget(token);
}

float* Answer::logits_to_compute() {
  logits_.resize(engine_->model().desc.vocab_size);
  return logits_.data();
}

bool Answer::is_whole() {
  const constrain::Constraint* const held = constraint_.behind(tokens_);
  return held && held->is_over() && !held->has_end();
}

// For one more token, of an answer that is longer than the window that slid over it.
void Answer::make_room() {
  if (tokens_.size() == tokens_.capacity()) tokens_.reserve(2 * tokens_.size() + 1);
}

// The constraint is on both sides of the mask: the mask is told what may come, and where it sets
// bits that the constraint cleared, these are cleared again. Since a constraint only clears,
// neither allows what the other forbids.
Status Answer::draw(const DrawPlace& at) {
  make_room();
  allowed_.clear();
  const constrain::Constraint* const held = constraint_.behind(tokens_);
  const std::shared_ptr<const constrain::TokenSet> may_come = held ? held->tokens() : nullptr;
  if (options_.mask || held) allowed_.assign((logits_.size() + 31) / 32, ~std::uint32_t{0});
  if (may_come) may_come->keep_in(allowed_);
  if (options_.mask) {
    if (!options_.mask(allowed_, at)) return cancelled();
    if (may_come) may_come->keep_in(allowed_);
  }
  unread_ = sampler_.sample(logits_, allowed_);
  if (unread_ >= 0) return ok();
  return error(Code::kInvalidArgument,
               "no token may be drawn: mask, bias and constraint forbid all");
}

std::optional<TokenId> Answer::take_drawn() {
  if (engine_->ends_turn(unread_)) {
    sampler_.forget(unread_);
    stats_.end_token = unread_;
    unread_ = -1;  // what closes the turn is the chat format's
    return end(Finish::kEos);
  }
  ++stats_.generated_tokens;
  tokens_.push_back(unread_);
  if (text_.push(unread_)) {
    stats_.finish = Finish::kStop;
    stats_.stop = text_.stop();
  }
  return unread_;
}

std::optional<TokenId> Answer::end(Finish how) {
  stats_.finish = how;
  text_.finish();
  return std::nullopt;
}

void Answer::cancel() {
  if (stats_.finish == Finish::kNone) stats_.finish = Finish::kCancelled;
}

void Answer::go_on() {
  if (stats_.finish == Finish::kCancelled) stats_.finish = Finish::kNone;
}

std::string Answer::whole_text() const {
  TextStream stream(engine_->tokenizer(), options_.stop, begins_);
  std::string text;
  for (const TokenId token : tokens_) {
    const bool stopped = stream.push(token);
    text += stream.text();
    if (stopped) return text;
  }
  stream.finish();
  return text + stream.text();
}

std::size_t Answer::n_lookup() const {
  return std::min(max_tokens_, engine_->context_tokens());
}

// What is likely to follow, by who knows better, or by the constraint, which may leave no choice.
void Answer::tell(Tokens* next, std::size_t most) {
  constexpr std::size_t kMostBytes = 64;  // more than the 15 tokens of a draft mostly have
  if (options_.draft) options_.draft(next, most);
  const constrain::Constraint* const held = constraint_.behind(tokens_);
  if (!next->empty() || !held) return;
  const std::string text = held->forced_text(kMostBytes);
  if (text.empty()) return;
  Result<Tokens> tokens = engine_->tokenize(text, {.opens = false});
  if (tokens.ok()) *next = std::move(tokens).value();
}

std::span<const TokenId> Answer::draft(const Conversation& conversation, std::size_t most,
                                       bool is_alone) noexcept {
  if (options_.max_draft == 0u) return {};
  const auto told = [this](Tokens* next, std::size_t n) { tell(next, n); };
  const auto step = drafter_.draft(conversation, unread_, {most, is_alone, n_lookup(), told});
  if (!step.empty()) stats_.drafted_tokens += drafter_.n_drafted();
  return step;
}

void Answer::end_step() {
  unread_ = -1;
  drafter_.computed(&logits_);
}

void Answer::take_drafted(const Conversation& conversation) noexcept {
  drafter_.take_next(conversation, unread_, n_lookup(), &logits_);
  unread_ = -1;
  ++stats_.right_drafts;
}

}  // namespace pc
