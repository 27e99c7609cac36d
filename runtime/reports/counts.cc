#include "runtime/reports/counts.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "modules/module_image.h"  // stored_size
#include "runtime/prompt/link_search.h"

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

namespace {

// A module's look-up, once for all of its runs.
struct Found {
  LookedRun::State state = LookedRun::State::kMissing;
  std::string why;
};

Found find(const LoadedPrompt& prompt, SchemaModule& module) {
  bool held = false;
  Lookup lookup = prompt.schema->peek(module, &held);
  if (!lookup) return {LookedRun::State::kMissing, std::move(lookup.why)};
  return {held ? LookedRun::State::kHeld : LookedRun::State::kStored, ""};
}

LookedRun looked_run(const LoadedPrompt& prompt, const PlacedRun& placed, const Found& found) {
  LookedRun run{.n_tokens = placed.run->tokens.size(),
                .state = found.state,
                .exact = placed.exact,
                .repair = placed.repair,
                .why = found.why};
  if (placed.exact || placed.repair.kind != pml::Repair::Kind::kAuto) return run;
  const Result<pml::Repair> verdict = prompt.schema->verdict();
  if (!verdict.ok()) run.why = verdict.error().message;
  return run;
}

}  // namespace

PromptLook look_at_prompt(const LoadedPrompt& prompt) {
  const std::vector<PlacedRun> runs = settled_runs(prompt);
  PromptLook look;
  PromptCounts& counts = look.counts;
  std::vector<Found> found;
  for (const auto& module : prompt.modules) {
    found.push_back(find(prompt, *module));
    counts.modules_missing += found.back().state == LookedRun::State::kMissing;
  }
  counts.modules = static_cast<std::uint32_t>(prompt.modules.size());
  for (const PlacedRun& placed : runs) {
    const std::size_t begin = counts.tokens, n = placed.run->tokens.size();
    counts.tokens += n;
    if (placed.run->kind != pml::RunKind::kCached) continue;
    counts.module_tokens += n;
    if (!placed.exact) counts.approximate_tokens += n;
    look.runs.push_back(looked_run(prompt, placed, found[placed.run->job]));
    look.runs.back().begin = begin;
  }
  counts.repaired_tokens = n_anew(runs);
  const std::vector<Anew> anew = leading_tokens(runs);
  counts.chained_tokens =
      find_links(prompt, {true, anew, chain_known_until(prompt, runs)}).n_found();
  return look;
}

PromptCounts count_prompt(const LoadedPrompt& prompt) {
  return look_at_prompt(prompt).counts;
}

}  // namespace pc
