// A session that a plug-in has no memory for moves to the engine's CPU, which reads no states of
// the plug-in's: another run, of a prompt that begins anew there, with modules of its own, or of a
// conversation that is computed as what it has become.

#include <string>
#include <utility>

#include "base/progress.h"  // cancelled, is_set
#include "runtime/scheduler/log.h"
#include "runtime/session/session.h"

namespace pc {

// Has the plug-in no memory for what was asked last? A check of answers measures what modules do:
// a full prefill in their place would falsify it. What is left of a conversation whose window slid
// would be another conversation.
bool Session::goes_to_cpu(const Status& computed) const {
  if (options_.checked_repair && conversation_.is_read()) return false;
  return !computed.ok() && computed.error().code == Code::kOutOfMemory && !run_.is_at_work() &&
         !conversation_.has_slid() && engine().is_on_plug_in() &&
         !engine().options().require_backend;
}

Status Session::go_to_cpu(const Error& why) {
  if (is_set(&cancel_)) return cancelled();
  const Stopwatch watch;
  auto prompt = conversation_.prompt()->on_cpu(&cancel_);
  if (!prompt.ok() && prompt.error().code == Code::kCancelled) return prompt.error();
  if (!prompt.ok())
    return error(Code::kOutOfMemory,
                 why.message + "; the CPU cannot take the request over: " + prompt.error().message);
  PC_TRY(Conversation moved, conversation_.on(std::move(prompt).value()));
  log(LogLevel::kWarning, std::string("the CPU computes a request in the place of ") +
                              engine().backend().name() + ": " + why.message);
  run_ = Run(moved.engine(), run_.caller());
  conversation_ = std::move(moved);
  if (!conversation_.is_read()) return ok();
  answer_.drop_drafts();
  answer_.forget_text();
  broken_.reset();
  begun_ = watch;
  return ok();
}

}  // namespace pc
