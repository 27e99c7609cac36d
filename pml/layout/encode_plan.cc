#include "pml/layout/encode_plan.h"

#include <algorithm>
#include <utility>

#include "pml/layout/flat_prompt.h"

namespace pc::pml {
namespace {

// One causal pass under construction.
class Pass {
 public:
  explicit Pass(const Layout& layout) : layout_(layout) {}

  void add(const JobSpec& spec, const JobStep& step) {
    if (step.stand_in != kNone) return add(layout_.stand_ins[step.stand_in].tokens, end_, false, 0);
    if (step.item == kNone) return add(spec.markup[step.markup], end_, false, 0);
    const Item item = layout_.items[step.item];
    if (item.kind == ItemKind::kPiece) {
      const Piece& piece = layout_.pieces[item.index];
      add(piece.tokens, place(piece.position), step.keep, item.index);
    } else {
      const Slot& slot = layout_.slots[item.index];
      add(slot.filler, place(slot.position), false, 0);
    }
  }

  std::vector<JobRun> finish() { return std::move(runs_); }

 private:
  // Where something of the layout stands. With positions=schema it keeps its
  // distances, except from the opening of a turn that no gap had room for.
  Position place(Position schema_position) {
    if (layout_.positions == Positions::kCompact) return end_;
    shift_ = std::max(shift_, end_ - schema_position);
    return schema_position + shift_;
  }

  void add(const Tokens& tokens, Position position, bool keep, std::uint32_t piece) {
    end_ = position + static_cast<Position>(tokens.size());
    if (!keep && !runs_.empty()) {
      JobRun& last = runs_.back();
      if (!last.keep && last.position + static_cast<Position>(last.tokens.size()) == position) {
        last.tokens.insert(last.tokens.end(), tokens.begin(), tokens.end());
        return;
      }
    }
    runs_.push_back({tokens, position, keep, piece});
  }

  const Layout& layout_;
  std::vector<JobRun> runs_;
  Position end_ = 0;
  Position shift_ = 0;
};

}  // namespace

static std::string name_of(const Layout& layout, const JobSpec& spec) {
  if (!spec.scaffold) return layout.modules[spec.subject].path;
  return spec.subject == kNone ? kTogether : "scaffold " + layout.scaffolds[spec.subject].name;
}

EncodeJob make_job(const Layout& layout, const JobSpec& spec) {
  Pass pass(layout);
  for (const JobStep& step : spec.steps) pass.add(spec, step);
  return {name_of(layout, spec), layout.attend == Attend::kSlots ? Attend::kPrefix : layout.attend,
          spec.scaffold,         spec.subject,
          spec.n_stand_ins,      pass.finish()};
}

std::vector<JobSpec> plan_encoding(const Layout& layout) {
  const FlatPrompt flat = flatten_schema(layout);
  std::vector<JobSpec> jobs = module_jobs(layout, flat, {});
  for (std::uint32_t i = 0; i < layout.scaffolds.size(); ++i)
    if (JobSpec job = scaffold_job(layout, flat, {}, i); !job.steps.empty())
      jobs.push_back(std::move(job));
  return jobs;
}

std::vector<EncodeJob> make_jobs(const Layout& layout, const std::vector<JobSpec>& specs) {
  std::vector<EncodeJob> jobs;
  for (const JobSpec& spec : specs) jobs.push_back(make_job(layout, spec));
  return jobs;
}

}  // namespace pc::pml
