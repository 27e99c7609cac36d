#include "tools/serve/models/preparation.h"

#include <promptcache/promptcache.hpp>
#include <utility>

namespace pc::serve {
namespace {

int go_on_while(void* may_go_on, std::uint64_t, std::uint64_t) {
  return (*static_cast<const IdleWork::MayGoOn*>(may_go_on))() ? 0 : 1;
}

// Tokens that it computed; they are kept.
std::uint64_t compute(const promptcache::Prompt& prompt, const IdleWork::MayGoOn& may_go_on) {
  promptcache::SessionOptions options;
  options.set_max_tokens(0);
  options.progress = go_on_while;
  options.progress_user = const_cast<IdleWork::MayGoOn*>(&may_go_on);
  promptcache::Session session(prompt, options);
  session.prefill();
  session.keep();
  return session.stats().computed_tokens;
}

}  // namespace

IdleWork::Job preparation(const ServedModel& model, Question next,
                          std::function<void(std::uint64_t)> on_prepared) {
  return [&model, next = std::move(next),
          on_prepared = std::move(on_prepared)](const IdleWork::MayGoOn& may_go_on) {
    const promptcache::Prompt prompt = model.prompt_of(next);
    const pc_prompt_counts counts = prompt.counts();
    const std::uint64_t n_missing = counts.tokens - counts.chained_tokens;
    if (n_missing < kLeastPrepared || n_missing > kMostPrepared) return true;
    try {
      on_prepared(compute(prompt, may_go_on));
    } catch (const promptcache::Error& error) {
      return error.status() != PC_CANCELLED;
    }
    return true;
  };
}

}  // namespace pc::serve
