// A session's other ways on: another copy of it, and back to an earlier token.

#include <utility>

#include "runtime/scheduler/stopwatch.h"
#include "runtime/session/session.h"

namespace pc {

Status Session::rewind(Position position) {
  return call([&] { return with_room([&] { return go_back(position); }); });
}

Result<std::unique_ptr<Session>> Session::fork() const {
  std::unique_ptr<Session> fork(new Session(prompt_, options_, max_tokens_));
  fork->asked_ = asked_;
  fork->resumes_ = resumes_;
  fork->saw_modules_ = saw_modules_;
  fork->residents_ = residents_;
  fork->auto_repair_ = auto_repair_;
  if (timeline_) {
    PC_TRY(fork->timeline_, timeline_->fork());
    const auto n_ahead = static_cast<std::uint32_t>(drafts_.n_ahead());
    PC_CHECK_OK(fork->timeline_->rewind(timeline_->n_tokens() - n_ahead, timeline_->n_attached()));
  }
  fork->draft_length_ = draft_length_;
  fork->sampler_ = sampler_;
  fork->text_ = text_;
  fork->logits_ = logits_;
  fork->token_ = token_;
  fork->position_ = position_;
  fork->chain_ = chain_;
  fork->scores_ = scores_;
  if (task_ && timeline_) fork->chain_.rewind(position_);  // it has to compute the token itself
  fork->cuts_ = cuts_;
  fork->slid_ = slid_;
  fork->lacks_begin_ = lacks_begin_;
  fork->dropped_tokens_ = dropped_tokens_;
  fork->dropped_turns_ = dropped_turns_;
  fork->said_ = said_;
  fork->imports_ = imports_;
  fork->open_ = open_;
  fork->past_ = past_;
  fork->answer_.assign(answer_.begin(), answer_.end());
  fork->broken_ = broken_;
  fork->stats_ = stats_;
  return fork;
}

Status Session::go_back(Position position) {
  PC_CHECK_OK(ready_to_go_on());
  std::size_t n_past = past_.size();
  while (n_past > 0 && past_[n_past - 1].end >= position) --n_past;
  const bool in_past = n_past < past_.size();
  const Position begin = in_past ? past_[n_past].open.begin : open_.begin;
  const bool is_before_slide = slid_ != 0 && (position <= slid_ || lacks_begin_);
  if (position < begin || (!in_past && position > position_) || is_before_slide)
    return error(Code::kInvalidArgument, "position " + std::to_string(position) +
                                             " is in no answer that can be gone back to; the next "
                                             "token's position is " +
                                             std::to_string(position_));

  // The token before it is computed again, for the logits.
  const Stopwatch watch;
  Chain chain = chain_;
  const Tokens kept = chain.tokens(begin, position), last = chain.tokens(position - 1, position);
  const Tokens unsaid = chain.tokens(position, position_);
  const bool may_be_stored = chain.may_be_stored(position - 1);
  chain.rewind(position - 1);
  PC_TRY(BackendTimeline timeline, timeline_->fork());
  const Read& read = in_past ? past_[n_past].open.read : open_.read;
  PC_CHECK_OK(timeline.rewind(chain.n_computed(), read.n_attached));
  chain.append(last, position - 1, may_be_stored);
  std::vector<pc_run> runs;
  chain.add_missing(&runs);
  std::vector<float> logits(logits_.size());
  AnswerRoom room = answer_room(max_tokens_behind(begin));
  for (const TokenId token : kept) {
    room.tokens.push_back(token);
    room.text.push(token);
  }
  PC_CHECK_OK(compute(&timeline, runs, logits.data()));

  forget_from(position, unsaid);
  chain.computed();
  chain_ = std::move(chain);
  timeline_ = std::move(timeline);
  logits_.swap(logits);
  if (in_past) {
    open_ = std::move(past_[n_past].open);
    said_.resize(open_.read.n_said);
    past_.resize(n_past, PastAnswer{});
  }
  token_ = -1;
  position_ = begin;
  begin_answer(std::move(room));
  position_ = position;
  const std::uint64_t n_read = open_.read.n_module_tokens + chain_.n_tokens();
  stats_ = {};
  stats_.dropped_tokens = dropped_tokens_;
  stats_.dropped_turns = dropped_turns_;
  stats_.prompt_tokens = n_read;
  stats_.computed_tokens = 1;
  stats_.cached_tokens = n_read - 1;
  stats_.prefill_us = stats_.ttft_us = std::exchange(move_us_, 0) + watch.microseconds();
  return ok();
}

}  // namespace pc
