// A conversation as one text, for another engine: an engine's CPU reads no states of a plug-in's,
// so what was said is computed there token by token, as a full prefill would.

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/conversation/conversation.h"

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

Result<Conversation> Conversation::on(std::shared_ptr<const LoadedPrompt> prompt) const {
  Conversation moved = *this;
  moved.chain_ = Chain(prompt->schema->identity());
  if (is_read()) {
    PC_TRY(moved.chain_, as_one_text(prompt->schema->identity()));
  }
  moved.prompt_ = std::move(prompt);
  moved.imports_.clear();
  moved.open_.read.n_attached = 0;
  moved.open_.read.n_module_tokens = 0;
  for (PastAnswer& past : moved.past_) past.open.read.n_attached = 0;
  for (PastAnswer& past : moved.past_) past.open.read.n_module_tokens = 0;
  return moved;
}

// What the conversation has seen, modules' tokens too, in links to be computed. Where there were
// modules, nobody has them attached as it saw them, so that nobody would find it in the store.
Result<Chain> Conversation::as_one_text(const ModuleIdentity& identity) const {
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
  if (same != all.end() || all.size() != n_tokens())
    return error(Code::kInternal, "a conversation's tokens are not where its parts say");
  Chain chain(identity);
  if (all.size() != computed.size()) chain.never_stored();
  for (const Seen& seen : all) {
    chain.append({&seen.token, 1}, seen.position, seen.may_be_stored);
    if (seen.ends_turn) chain.end_turn();
  }
  return chain;
}

}  // namespace pc
