// What goes on behind an answer, planned and not computed yet: turns, a text, tokens.
//
// Where modules come, or the window slides, it has a timeline of its own, so that the run's stays
// as it was. Computes what modules and repairs want, nothing of the conversation. Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "pml/syntax/prompt.h"
#include "runtime/conversation/conversation.h"
#include "runtime/prompt/asked_repairs.h"
#include "runtime/scheduler/stopwatch.h"
#include "runtime/session/answer.h"
#include "runtime/session/run.h"
#include "runtime/session/session_options.h"
#include "runtime/session/session_stats.h"
#include "runtime/session/window_slide.h"

namespace pc {

struct Appending {
  Appendix appendix;
  std::optional<BackendTimeline> timeline = {};  // none: behind the run's own
  ReadStats found = {};
  Stopwatch watch = {};
};

// What it goes on behind: nothing of it is under way, and nothing ahead. Borrowed.
struct Before {
  const SessionOptions& options;
  const Conversation& conversation;
  const Answer& answer;
  const Run& run;
  AskedRepairs* repairs;

  bool slides() const { return options.overflow == Overflow::kSlide; }
};

// The errors of Session::append; what its turns say is computed, or found.
Result<Appending> plan_appended_turns(const Before& before,
                                      const std::vector<pml::PromptNode>& turns);
Result<Appending> plan_appended_text(const Before& before, std::string_view text);
Result<Appending> plan_appended_tokens(const Before& before, std::span<const TokenId> tokens);

// ---- Parts of these

// A turn that is a text.
pml::PromptNode text_turn(pml::Role role, std::string_view text);
// What stands before n tokens, of which the first n_opening open a turn (0: that is not known).
Result<Appending> begin_appending(const Before& before, bool keeps_answer, std::size_t n,
                                  std::size_t n_opening = 0);
// kContextFull where what ends there leaves no room for an answer.
Status check_end(const Before& before, Position end);
// Turns with modules, behind an answer with this text. opening: of the first of them.
Result<Appending> plan_appended_modules(const Before& before,
                                        const std::vector<pml::PromptNode>& turns,
                                        const std::string& answer, const std::string& opening);
// The window without what goes.
Result<Slid> slide_to(const Conversation& conversation, const Run& run, const Slide& slide,
                      Position end);

}  // namespace pc
