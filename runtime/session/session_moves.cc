// A session that a plug-in has no memory for moves to the engine's CPU, which reads no states of
// the plug-in's: a prompt begins anew there, with modules of its own; a conversation that is under
// way is computed there as what it has become, token by token, as a full prefill would.

#include <algorithm>
#include <utility>
#include <vector>

#include "base/progress.h"  // cancelled, is_set
#include "runtime/scheduler/log.h"
#include "runtime/session/session.h"

namespace pc {
namespace {

// A token that a conversation has seen.
struct Seen {
  Position position;
  TokenId token;
  bool may_be_stored, ends_turn;
};

std::vector<Seen> seen_by(const Chain& chain) {
  std::vector<Seen> seen;
  for (const Chain::Link& link : chain.links())
    for (std::size_t i = 0; i < link.tokens.size(); ++i)
      seen.push_back({link.position_of(i), link.tokens[i], link.may_be_stored,
                      link.ends_turn && i + 1 == link.tokens.size()});
  std::ranges::sort(seen, {}, &Seen::position);
  return seen;
}

}  // namespace

// Has the plug-in no memory for what was asked last? A check of answers measures what modules do:
// a full prefill in their place would falsify it.
bool Session::goes_to_cpu(const Status& computed) const {
  if (options_.checked_repair && (timeline_ || resumes_)) return false;
  if (slid_ != 0) return false;  // a full prefill of what is left would be another conversation
  return !computed.ok() && computed.error().code == Code::kOutOfMemory && !task_ &&
         engine().is_on_plug_in() && !engine().options().require_backend;
}

Status Session::go_to_cpu(const Error& why) {
  if (is_set(&cancel_)) return cancelled();
  const Stopwatch watch;
  auto prompt = prompt_->on_cpu(&cancel_);
  if (!prompt.ok() && prompt.error().code == Code::kCancelled) return prompt.error();
  if (!prompt.ok())
    return error(Code::kOutOfMemory,
                 why.message + "; the CPU cannot take the request over: " + prompt.error().message);
  const ModuleIdentity& identity = (*prompt)->schema->identity();
  Chain chain(identity);
  const bool resumes = timeline_ || resumes_;
  if (resumes) {
    PC_TRY(chain, chain_of_all(identity));
    saw_modules_ |= chain.n_tokens() != chain_.n_tokens();
    moves_ = watch;
  }
  log(LogLevel::kWarning, std::string("the CPU computes a request in the place of ") +
                              engine().backend().name() + ": " + why.message);
  asked_ = std::exchange(prompt_, std::move(prompt).value());
  residents_.assign(prompt_->modules.size(), nullptr);
  chain_ = std::move(chain);
  if (resumes) forget_states();
  return ok();
}

// What the conversation has seen, modules' tokens too, in links to be computed.
Result<Chain> Session::chain_of_all(const ModuleIdentity& identity) const {
  const std::vector<Seen> computed = seen_by(chain_);
  std::vector<Seen> all = computed;
  // Tokens of a module that were computed anew are the chain's, and stand between its own.
  const auto is_computed = [&](Position position) {
    return std::ranges::binary_search(computed, position, {}, &Seen::position);
  };
  for (const pml::PlanRun& run : prompt_->plan.runs) {
    if (run.kind != pml::RunKind::kCached) continue;
    for (std::size_t i = 0; i < run.tokens.size(); ++i) {
      const Position position = run.position + static_cast<Position>(i);
      if (!is_computed(position)) all.push_back({position, run.tokens[i], false, false});
    }
  }
  for (const Import& import : imports_) {
    Position position = import.position;
    for (const TokenId token : import.tokens) {
      while (is_computed(position)) ++position;
      all.push_back({position++, token, false, false});
    }
  }
  std::ranges::sort(all, {}, &Seen::position);
  const auto same = std::ranges::adjacent_find(all, {}, &Seen::position);
  if (same != all.end() || all.size() != chain_.n_tokens() + open_.read.n_module_tokens)
    return error(Code::kInternal, "a conversation's tokens are not where its parts say");
  Chain chain(identity);
  for (const Seen& seen : all) {
    chain.append({&seen.token, 1}, seen.position, seen.may_be_stored);
    if (seen.ends_turn) chain.end_turn();
  }
  return chain;
}

// Nothing is attached any more, and nothing computed yet.
void Session::forget_states() {
  timeline_.reset();
  drafts_.clear();
  lookup_.reset();
  imports_.clear();
  open_.read.n_attached = 0;
  open_.read.n_module_tokens = 0;
  for (PastAnswer& past : past_) past.open.read.n_attached = 0;
  for (PastAnswer& past : past_) past.open.read.n_module_tokens = 0;
  broken_.reset();
  resumes_ = true;
}

Status Session::begin_resuming() {
  PC_TRY(BackendTimeline timeline, engine().backend().timeline());
  Prefill prefill{{}, {}, chain_, std::move(timeline), {}};
  prefill.chain.add_missing(&prefill.runs);
  prefill_ = std::make_unique<Prefill>(std::move(prefill));
  task_.emplace(work(&prefill_->timeline, prefill_->runs, logits_.data()));
  return ok();
}

}  // namespace pc
