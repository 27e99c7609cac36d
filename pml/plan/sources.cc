#include "pml/plan/sources.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace pc::pml {
namespace {

// Points the pieces that a job keeps at the job; those that have a source stay.
// A job that no piece needs does not serve.
void claim(const Layout& layout, JobSpec job, Sources& sources) {
  const auto index = static_cast<std::uint32_t>(sources.jobs.size());
  std::uint32_t kept = 0;
  bool serves = false;
  for (const JobStep& step : job.steps) {
    if (!step.keep) continue;
    Source& source = sources.of_piece[layout.items[step.item].index];
    if (source.job == kNone) {
      source = {index, kept};
      serves = true;
    }
    ++kept;
  }
  if (serves) sources.jobs.push_back(std::move(job));
}

// The scaffolds that serve, in the order in which they claim.
std::vector<std::uint32_t> serving_scaffolds(const Layout& layout, const Binding& binding) {
  std::vector<std::uint32_t> order(layout.scaffolds.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto modules = [&](std::uint32_t i) -> auto& {
    return layout.scaffolds[i].modules;
  };
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return modules(a).size() > modules(b).size();
  });
  std::vector<bool> taken(layout.modules.size());
  std::erase_if(order, [&](std::uint32_t i) {
    const auto free = [&](std::uint32_t m) { return binding.imported(m) && !taken[m]; };
    if (!std::all_of(modules(i).begin(), modules(i).end(), free)) return true;
    for (const std::uint32_t m : modules(i)) taken[m] = true;
    return false;
  });
  return order;
}

// Is there a scaffold that serves for all that the prompt imports?
bool is_written(const Layout& layout, const Binding& binding,
                const std::vector<std::uint32_t>& serving) {
  if (serving.empty()) return false;
  const std::vector<std::uint32_t>& listed = layout.scaffolds[serving.front()].modules;
  const auto is_stored = [&](std::uint32_t m) { return layout.modules[m].stored(); };
  std::ptrdiff_t n_imported = 0;
  for (std::uint32_t m = 0; m < layout.modules.size(); ++m)
    n_imported += m != kRoot && binding.imported(m) && is_stored(m);
  return std::count_if(listed.begin(), listed.end(), is_stored) == n_imported;
}

}  // namespace

Sources choose_sources(const Layout& layout, const Binding& binding, const FlatPrompt& flat,
                       const std::vector<TurnTokens>& turns, const StoredStates& stored) {
  Sources sources;
  sources.of_piece.resize(layout.pieces.size());
  const std::vector<std::uint32_t> scaffolds = serving_scaffolds(layout, binding);
  if (stored.together && !is_written(layout, binding, scaffolds)) {
    JobSpec together = together_job(layout, flat, turns);
    if (!together.steps.empty() && stored.together(together))
      claim(layout, std::move(together), sources);
  }
  for (const std::uint32_t i : scaffolds)
    claim(layout, scaffold_job(layout, flat, turns, i), sources);
  std::vector<JobSpec> jobs = stored.in_slot
                                  ? jobs_in_slots_found(layout, flat, turns, stored.in_slot)
                                  : module_jobs(layout, flat, turns);
  for (JobSpec& job : jobs) claim(layout, std::move(job), sources);
  return sources;
}

}  // namespace pc::pml
