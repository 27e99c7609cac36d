#include "pml/sources.h"

#include <algorithm>

#include "pml/names.h"

namespace pc::pml {
namespace {

// Points the pieces that a job keeps at the job; those already in `claimed` stay.
Status claim(const Layout& layout, const std::vector<EncodeJob>& jobs, std::uint32_t job,
             std::vector<bool>& claimed, Sources& sources) {
  std::uint32_t kept = 0;
  for (const JobRun& run : jobs[job].runs) {
    if (!run.keep) continue;
    if (run.piece >= layout.pieces.size()) return foreign_jobs(layout);
    if (!claimed[run.piece]) sources[run.piece] = {job, kept};
    claimed[run.piece] = true;
    ++kept;
  }
  return ok();
}

// The jobs of the scaffolds that serve, in the order in which they claim.
std::vector<std::uint32_t> serving_scaffolds(const Layout& layout,
                                             const std::vector<EncodeJob>& jobs,
                                             const Binding& binding) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t j = 0; j < jobs.size(); ++j)
    if (jobs[j].scaffold && jobs[j].subject < layout.scaffolds.size()) order.push_back(j);
  const auto modules = [&](std::uint32_t j) -> auto& {
    return layout.scaffolds[jobs[j].subject].modules;
  };
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return modules(a).size() > modules(b).size();
  });
  std::vector<bool> taken(layout.modules.size());
  std::erase_if(order, [&](std::uint32_t j) {
    const auto free = [&](std::uint32_t m) { return binding.imported(m) && !taken[m]; };
    if (!std::all_of(modules(j).begin(), modules(j).end(), free)) return true;
    for (const std::uint32_t m : modules(j)) taken[m] = true;
    return false;
  });
  return order;
}

}  // namespace

Error foreign_jobs(const Layout& layout) {
  return error(Code::kInvalidArgument,
               "the encode jobs are not those of schema " + quote(layout.schema));
}

Result<Sources> choose_sources(const Layout& layout, const std::vector<EncodeJob>& jobs,
                               const Binding& binding) {
  Sources sources(layout.pieces.size());
  std::vector<bool> claimed(layout.pieces.size());
  for (const std::uint32_t j : serving_scaffolds(layout, jobs, binding))
    PC_CHECK_OK(claim(layout, jobs, j, claimed, sources));
  for (std::uint32_t j = 0; j < jobs.size(); ++j)
    if (!jobs[j].scaffold) PC_CHECK_OK(claim(layout, jobs, j, claimed, sources));
  return sources;
}

}  // namespace pc::pml
