#include "runtime/prompt/asked_repairs.h"

#include <algorithm>

namespace pc {

bool AskedRepairs::any(const LoadedPrompt& prompt) const {
  if (checked_) return true;
  return std::ranges::any_of(prompt.plan.runs, [&](const pml::PlanRun& run) {
    return run.kind == pml::RunKind::kCached &&
           prompt.repair_of(run, asked_).kind != pml::Repair::Kind::kNone;
  });
}

Status AskedRepairs::put(const LoadedPrompt& prompt, std::span<PlacedRun> runs) {
  for (PlacedRun& run : runs) {
    if (run.exact) continue;
    run.repair = checked_ ? prompt.schema->own_repair(*run.run).value_or(*checked_)
                          : prompt.repair_of(*run.run, asked_);
    if (run.repair.kind == pml::Repair::Kind::kAuto) {
      if (!verdict_) {
        PC_TRY(verdict_, prompt.schema->verdict());
      }
      run.repair = *verdict_;
    }
    if (run.repair.is_partial() && prompt.schema->engine().model().is_recurrent()) run.repair = {};
  }
  return ok();
}

}  // namespace pc
