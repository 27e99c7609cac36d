// What a session has ahead of its conversation, and what it lets go behind it: drafts
// (docs/adr/0039-drafts.md), and the window's end.

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/session/session.h"
#include "simd/kernels.h"

namespace pc {

// Precondition: the token drawn last is the chain's last, and more may be drawn.
std::size_t Session::most_drafted() const {
  if (engine().model().is_recurrent()) return 0;  // a draft that is wrong costs its states
  const std::size_t end = static_cast<std::size_t>(position()) + 1;
  const std::size_t window = engine().context_tokens();
  return std::min({std::size_t{answer_.max_draft().value_or(DraftLength::kMost)}, draft_room_,
                   answer_.n_left() - 1, window - std::min(window, end),
                   Chain::kMaxTokens - conversation_.chain().links().back().tokens.size()});
}

// Was the token that was drawn last computed already? Where another was drawn than the draft's, its
// rest goes.
Result<bool> Session::take_drafted() {
  if (answer_.n_ahead() == 0) return false;
  if (!answer_.is_drafted()) {
    PC_CHECK_OK(drop_drafts());
    return false;
  }
  conversation_.begin_token(answer_.unread());  // nothing fails behind it
  conversation_.end_token();
  answer_.take_drafted(conversation_);
  PC_CHECK_OK(check_drafted_logits());
  return true;
}

// The timeline has no token that is not the conversation's.
Status Session::drop_drafts() {
  if (answer_.n_ahead() == 0) return ok();
  answer_.learn_of_drafts();
  const Status done = run_.drop_last(static_cast<std::uint32_t>(answer_.n_ahead()));
  if (!done.ok()) return failed(done.error());
  answer_.drop_drafts();
  return ok();
}

// As the backend does for a token that comes alone.
Status Session::check_drafted_logits() {
  const std::span<const float> logits = answer_.logits();
  if (simd::selected_or_scalar_kernels().all_finite(logits.data(), simd::Type::kF32, logits.size()))
    return ok();
  return failed(error(Code::kNotFinite,
                      "the model computed logits that are not finite, for the token at position " +
                          std::to_string(position() - 1)));
}

// For the token that was drawn last; false where there is none to be made.
Result<bool> Session::make_room() {
  const Position end = position();
  if (options_.overflow != Overflow::kSlide || !conversation_.wants_slide(end, 1)) return true;
  const auto ends_here = [](const Error& e) {
    return e.code == Code::kContextFull || e.code == Code::kUnsupported;
  };
  auto chosen = conversation_.choose_slide(run_.timeline().attached(), {end, 1, 0});
  if (!chosen.ok() && ends_here(chosen.error())) return false;
  PC_TRY(const Slide slide, std::move(chosen));
  auto made = slide_to(conversation_, run_, slide, end);
  if (!made.ok() && ends_here(made.error())) return false;
  PC_TRY(Slid slid, std::move(made));
  conversation_.slide(slide, std::move(slid.chain), slid.timeline.n_attached());
  run_.take(std::move(slid.timeline));
  answer_.forget_text();
  return true;
}

}  // namespace pc
