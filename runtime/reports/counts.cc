#include "runtime/reports/counts.h"

#include <algorithm>
#include <optional>
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

std::vector<PlacedRun> settled_runs(const LoadedPrompt& prompt) {
  std::vector<PlacedRun> runs = prompt.placed_runs();
  std::optional<Result<pml::Repair>> verdict;
  for (PlacedRun& run : runs) {
    if (run.exact || run.repair.kind != pml::Repair::Kind::kAuto) continue;
    if (!verdict) verdict = prompt.schema->verdict();
    if (verdict->ok()) run.repair = **verdict;
  }
  return runs;
}

Position chain_known_until(const LoadedPrompt& prompt, std::span<const PlacedRun> runs) {
  for (const PlacedRun& run : runs)
    if (!run.exact && is_found_out(run.repair)) return run.position;
  return prompt.plan.end;
}

PromptCounts count_prompt(const LoadedPrompt& prompt) {
  const std::vector<PlacedRun> runs = settled_runs(prompt);
  PromptCounts counts;
  counts.tokens = prompt.plan.n_tokens();
  for (std::size_t i = 0; i < prompt.plan.runs.size(); ++i) {
    const pml::PlanRun& run = prompt.plan.runs[i];
    if (run.kind != pml::RunKind::kCached) continue;
    counts.module_tokens += run.tokens.size();
    if (!runs[i].exact) counts.approximate_tokens += run.tokens.size();
  }
  counts.repaired_tokens = n_anew(runs);
  const Chain chain = prompt.chain(true, leading_tokens(runs));
  const Position known = chain_known_until(prompt, runs);
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
