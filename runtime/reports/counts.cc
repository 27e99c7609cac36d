#include "runtime/reports/counts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "modules/module_image.h"  // stored_size

namespace pc {
namespace {

// A token and its distance in front of something.
using Seen = std::pair<Position, TokenId>;

void add(std::vector<Seen>* seen, const Tokens& tokens, Position position, Position origin) {
  for (std::size_t i = 0; i < tokens.size(); ++i)
    seen->push_back({origin - position - static_cast<Position>(i), tokens[i]});
}

}  // namespace

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

bool is_exact(const LoadedPrompt& prompt, std::size_t index) {
  const pml::PlanRun& run = prompt.plan.runs[index];
  std::vector<Seen> in_plan, in_pass;
  for (std::size_t i = 0; i < index; ++i)
    add(&in_plan, prompt.plan.runs[i].tokens, prompt.plan.runs[i].position, run.position);
  std::uint32_t n_kept = 0;
  for (const pml::JobRun& passed : prompt.modules[run.job]->job.runs) {
    if (passed.keep && n_kept++ == run.job_run) {
      for (Seen& seen : in_pass) seen.first += passed.position;
      break;
    }
    add(&in_pass, passed.tokens, passed.position, 0);
  }
  return in_plan == in_pass;
}

PromptCounts count_prompt(const LoadedPrompt& prompt) {
  PromptCounts counts;
  counts.tokens = prompt.plan.n_tokens();
  for (std::size_t i = 0; i < prompt.plan.runs.size(); ++i) {
    const pml::PlanRun& run = prompt.plan.runs[i];
    if (run.kind != pml::RunKind::kCached) continue;
    counts.module_tokens += run.tokens.size();
    if (!is_exact(prompt, i)) counts.approximate_tokens += run.tokens.size();
  }
  const Chain chain = prompt.chain(true);
  for (const Chain::Link& link : chain.links())
    if (prompt.may_find(link) && prompt.find(link)) counts.chained_tokens += link.tokens.size();
  counts.modules = static_cast<std::uint32_t>(prompt.modules.size());
  for (const auto& module : prompt.modules) {
    bool held = false;
    counts.modules_missing += !prompt.schema->peek(*module, &held);
  }
  return counts;
}

}  // namespace pc
