#include "runtime/reports/counts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "modules/module_image.h"  // stored_size

namespace pc {

SchemaCounts count_schema(const LoadedSchema& schema) {
  SchemaCounts counts;
  for (const pml::Module& module : schema.layout().modules) {
    counts.modules += !module.path.empty();
    counts.tokens += module.n_tokens;
  }
  for (const auto& module : schema.modules()) {
    counts.scaffolds += module->job.scaffold;
    counts.stored_bytes += stored_size(module->identity).bytes;
  }
  return counts;
}

std::vector<Anew> anew_of(const LoadedPrompt& prompt) {
  const pml::Repair& repair = prompt.repair();
  if (repair.kind != pml::Repair::Kind::kLeading) return {};
  return leading_tokens(prompt.placed_runs(), repair.n_tokens);
}

namespace {

// Does a session find out by computing what it computes anew?
bool is_found_out(const pml::Repair& repair) {
  return repair.kind == pml::Repair::Kind::kSelected || repair.kind == pml::Repair::Kind::kAttended;
}

}  // namespace

Position chain_known_until(const LoadedPrompt& prompt) {
  if (is_found_out(prompt.repair()))
    for (const PlacedRun& run : prompt.placed_runs())
      if (!run.exact) return run.position;
  return prompt.plan.end;
}

std::uint64_t repaired_tokens(const LoadedPrompt& prompt) {
  const pml::Repair& repair = prompt.repair();
  std::uint64_t n = 0;
  if (is_found_out(repair)) {
    for (const PlacedRun& run : prompt.placed_runs()) n += run.exact ? 0 : run.run->tokens.size();
    return selected_tokens(repair.share, n);
  }
  for (const Anew& tokens : anew_of(prompt)) n += tokens.size();
  return n;
}

PromptCounts count_prompt(const LoadedPrompt& prompt) {
  PromptCounts counts;
  counts.tokens = prompt.plan.n_tokens();
  for (std::size_t i = 0; i < prompt.plan.runs.size(); ++i) {
    const pml::PlanRun& run = prompt.plan.runs[i];
    if (run.kind != pml::RunKind::kCached) continue;
    counts.module_tokens += run.tokens.size();
    if (!prompt.is_exact(i)) counts.approximate_tokens += run.tokens.size();
  }
  counts.repaired_tokens = repaired_tokens(prompt);
  const Chain chain = prompt.chain(true, anew_of(prompt));
  const Position known = chain_known_until(prompt);
  for (const Chain::Link& link : chain.links())
    if (link.end() <= known && prompt.may_find(link) && prompt.find(link))
      counts.chained_tokens += link.tokens.size();
  counts.modules = static_cast<std::uint32_t>(prompt.modules.size());
  for (const auto& module : prompt.modules) {
    bool held = false;
    counts.modules_missing += !prompt.schema->peek(*module, &held);
  }
  return counts;
}

}  // namespace pc
