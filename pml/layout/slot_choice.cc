#include "pml/layout/slot_choice.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace pc::pml {
namespace {

class SlotChoice {
 public:
  SlotChoice(const Layout& layout, const FlatPrompt& flat, const std::vector<TurnTokens>& turns,
             IsStored is_stored)
      : layout_(layout),
        flat_(flat),
        turns_(turns),
        is_stored_(is_stored),
        n_slots_(static_cast<std::uint32_t>(layout.stand_ins.size()) + 1),
        modules_(opened_in_schema(flat)),
        most_users_((modules_.size() + n_slots_ - 1) / n_slots_),
        slots_(modules_.size()),
        chosen_(modules_.size(), false),
        users_(n_slots_),
        in_slot_(n_slots_) {}

  std::vector<JobSpec> jobs() {
    std::vector<JobSpec> in_places = module_jobs(layout_, flat_, turns_);
    for (std::size_t i = 0; i < modules_.size(); ++i)
      if (!is_kept(i) || is_found(i, in_places)) take(i, place_of(i));
    if (std::ranges::find(chosen_, false) == chosen_.end()) return in_places;
    choose();
    return module_jobs(layout_, flat_, turns_, slots_);
  }

 private:
  // For the modules that are not where they stand.
  void choose() {
    for (std::size_t i = 0; i < modules_.size(); ++i)
      for (std::uint32_t slot = 0; slot < n_slots_ && !chosen_[i]; ++slot)
        if (has_room(slot) && is_found(i, jobs_in(slot))) take(i, slot);
    for (std::size_t i = 0; i < modules_.size(); ++i)
      if (!chosen_[i]) take(i, has_room(place_of(i)) ? place_of(i) : emptiest());
  }

  static std::vector<std::uint32_t> opened_in_schema(const FlatPrompt& flat) {
    std::vector<std::uint32_t> modules;
    std::uint32_t depth = 0;
    for (const FlatStep& step : flat.steps) {
      if (step.what == FlatStep::What::kOpenModule && depth++ == 0) modules.push_back(step.index);
      if (step.what == FlatStep::What::kCloseModule) --depth;
    }
    return modules;
  }

  bool is_kept(std::size_t i) const { return layout_.modules[modules_[i]].stored(); }
  std::uint32_t place_of(std::size_t i) const { return static_cast<std::uint32_t>(i % n_slots_); }
  bool has_room(std::uint32_t slot) const { return users_[slot] < most_users_; }
  std::uint32_t emptiest() const {
    return static_cast<std::uint32_t>(std::ranges::min_element(users_) - users_.begin());
  }
  void take(std::size_t i, std::uint32_t slot) {
    slots_[i] = slot;
    chosen_[i] = true;
    ++users_[slot];
  }

  // If all stood in that slot.
  const std::vector<JobSpec>& jobs_in(std::uint32_t slot) {
    std::optional<std::vector<JobSpec>>& jobs = in_slot_[slot];
    if (!jobs) jobs = module_jobs(layout_, flat_, turns_, std::vector(modules_.size(), slot));
    return *jobs;
  }
  bool is_found(std::size_t i, const std::vector<JobSpec>& jobs) const {
    const auto job = std::ranges::lower_bound(jobs, modules_[i], {}, &JobSpec::subject);
    return job != jobs.end() && job->subject == modules_[i] && is_stored_(*job);
  }

  const Layout& layout_;
  const FlatPrompt& flat_;
  const std::vector<TurnTokens>& turns_;
  const IsStored is_stored_;
  const std::uint32_t n_slots_;
  const std::vector<std::uint32_t> modules_;  // of the schema's, in the prompt's order
  const std::size_t most_users_;              // of a slot: as few as all modules allow
  std::vector<std::uint32_t> slots_;          // of each module
  std::vector<bool> chosen_;
  std::vector<std::size_t> users_;  // of each slot
  std::vector<std::optional<std::vector<JobSpec>>> in_slot_;
};

}  // namespace

std::vector<JobSpec> jobs_in_slots_found(const Layout& layout, const FlatPrompt& flat,
                                         const std::vector<TurnTokens>& turns, IsStored is_stored) {
  const bool declared = !layout.stand_ins.empty() && layout.stand_ins.front().module == kNone;
  if (!declared || layout.attend != Attend::kSlots || flat.is_schema)
    return module_jobs(layout, flat, turns);
  return SlotChoice(layout, flat, turns, is_stored).jobs();
}

}  // namespace pc::pml
