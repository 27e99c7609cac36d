// Several tokens a step, where the text is known (docs/adr/0039-drafts.md): what may follow the
// token that was drawn is computed beside it, and what is drawn then decides.

#include <algorithm>

#include "runtime/session/session.h"
#include "simd/kernels.h"

namespace pc {

// All that the conversation has seen up to the token drawn last, which is the chain's last.
void Session::look_up_drawn() {
  if (lookup_) return lookup_->append({&token_, 1});
  lookup_.emplace();
  for (const pml::PlanRun& run : prompt_->plan.runs) {
    if (run.kind != pml::RunKind::kCached || open_.read.n_module_tokens == 0) continue;
    lookup_->append(run.tokens);
    lookup_->end_text();
  }
  for (const Import& import : imports_) {
    lookup_->append(import.tokens);
    lookup_->end_text();
  }
  for (const Chain::Link& link : chain_.links()) lookup_->append(link.tokens);
  lookup_->reserve(std::min(max_tokens_, engine().context_tokens()));
}

// Precondition: the token drawn last is the chain's last, and more may be drawn.
std::size_t Session::most_drafted() const {
  const std::size_t end = static_cast<std::size_t>(position_) + 1;
  const std::size_t window = engine().context_tokens();
  return std::min({std::size_t{options_.max_draft.value_or(DraftLength::kMost)}, draft_room_,
                   max_tokens_ - answer_.size() - 1, window - std::min(window, end),
                   Chain::kMaxTokens - chain_.links().back().tokens.size()});
}

// Of who knows better, or of the conversation.
PromptLookup::Proposal Session::proposal(std::size_t most) {
  if (most == 0) return {};
  told_.clear();
  if (options_.draft) options_.draft(&told_, most);
  if (told_.empty()) return lookup_->propose(most);
  told_.resize(std::min(told_.size(), most));
  return {told_, DraftLength::kTold};
}

// What follows the token drawn last, perhaps, is computed with it: in step_run_. Where there is no
// memory for it, or whoever knows better throws, the token is computed alone.
bool Session::draft() noexcept try {
  if (options_.max_draft == 0u || !engine().backend().hands_out_rows()) return false;
  const std::size_t most = most_drafted();
  drafts_.shrink(std::min(most, draft_room_));
  look_up_drawn();
  const PromptLookup::Proposal next = proposal(most);
  if (next.tokens.empty()) return false;
  // Who is ahead leaves the steps that others take together, and joins them again: not for a guess.
  const bool is_alone = draft_room_ == Drafts::room_beside(0);
  if (!is_alone && !DraftLength::is_likely(next.n_agreeing)) return false;
  const std::size_t n = draft_length_.choose(next.n_agreeing, next.tokens.size());
  const auto cannot_follow = [this](TokenId token) {
    return token < 0 || static_cast<std::size_t>(token) >= logits_.size() ||
           engine().ends_turn(token);
  };
  const auto right = next.tokens.first(n);
  const auto end = std::ranges::find_if(right, cannot_follow);
  if (end == right.begin()) return false;
  drafts_.begin(token_, {right.begin(), end}, next.n_agreeing,
                static_cast<std::uint32_t>(logits_.size()));
  step_run_.tokens = drafts_.step().data();
  step_run_.n_tokens = static_cast<std::uint32_t>(drafts_.step().size());
  stats_.drafted_tokens += drafts_.n_drafted();
  return true;
} catch (...) {
  drafts_.clear();
  lookup_.reset();  // it may lack a token
  return false;
}

// Was the token that was drawn last computed already? Where another was drawn than the draft's, its
// rest goes.
Result<bool> Session::take_drafted() {
  if (drafts_.n_ahead() == 0) return false;
  if (!drafts_.is_next(token_)) {
    PC_CHECK_OK(drop_drafts());
    return false;
  }
  chain_.append({&token_, 1}, position_);  // nothing fails behind it
  chain_.computed();
  drafts_.take_next(&logits_);
  try {
    look_up_drawn();
  } catch (...) {
    lookup_.reset();  // it is built again, of the chain
  }
  token_ = -1;
  ++position_;
  ++stats_.right_drafts;
  if (drafts_.n_ahead() == 0) learn_of_drafts();
  PC_CHECK_OK(check_drafted_logits());
  return true;
}

void Session::learn_of_drafts() {
  draft_length_.learn(drafts_.n_agreeing(), drafts_.n_drafted(), drafts_.n_right());
}

// The timeline has no token that is not the conversation's.
Status Session::drop_drafts() {
  if (drafts_.n_ahead() == 0) return ok();
  learn_of_drafts();
  const auto n_ahead = static_cast<std::uint32_t>(drafts_.n_ahead());
  const Status done = timeline_->rewind(timeline_->n_tokens() - n_ahead, timeline_->n_attached());
  if (!done.ok()) return failed(done.error());
  drafts_.clear();
  return ok();
}

// As the backend does for a token that comes alone.
Status Session::check_drafted_logits() {
  if (simd::selected_or_scalar_kernels().all_finite(logits_.data(), simd::Type::kF32,
                                                    logits_.size()))
    return ok();
  return failed(error(Code::kNotFinite,
                      "the model computed logits that are not finite, for the token at position " +
                          std::to_string(position_ - 1)));
}

}  // namespace pc
