#include "pml/layout/slot_choice.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
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
        last_(static_cast<std::uint32_t>(layout.stand_ins.size())),
        modules_(opened_in_schema(flat)),
        slots_(modules_.size()),
        chosen_(modules_.size(), false),
        is_taken_(last_ + 1, false),
        in_slot_(last_ + 1) {
    std::iota(slots_.begin(), slots_.end(), 0u);
  }

  // The slot of each module, in the prompt's order.
  std::vector<std::uint32_t> choose() {
    for (std::size_t i = 0; i < modules_.size(); ++i)
      if (!is_kept(i) || is_found(i, place_of(i))) take(i, place_of(i));
    for (std::size_t i = 0; i < modules_.size(); ++i)
      for (std::uint32_t slot = 0; slot <= last_ && !chosen_[i]; ++slot)
        if (is_free(slot) && is_found(i, slot)) take(i, slot);
    for (std::size_t i = 0; i < modules_.size(); ++i)
      if (!chosen_[i]) take(i, is_free(place_of(i)) ? place_of(i) : first_free());
    return std::move(slots_);
  }

 private:
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
  std::uint32_t place_of(std::size_t i) const {
    return std::min(static_cast<std::uint32_t>(i), last_);
  }
  bool is_free(std::uint32_t slot) const { return slot == last_ || !is_taken_[slot]; }
  std::uint32_t first_free() const {
    std::uint32_t slot = 0;
    while (!is_free(slot)) ++slot;
    return slot;
  }
  void take(std::size_t i, std::uint32_t slot) {
    slots_[i] = slot;
    chosen_[i] = true;
    is_taken_[slot] = true;
  }

  bool is_found(std::size_t i, std::uint32_t slot) {
    std::optional<std::vector<JobSpec>>& jobs = in_slot_[slot];
    if (!jobs) jobs = module_jobs(layout_, flat_, turns_, std::vector(modules_.size(), slot));
    const auto job = std::ranges::find(*jobs, modules_[i], &JobSpec::subject);
    return job != jobs->end() && is_stored_(*job);
  }

  const Layout& layout_;
  const FlatPrompt& flat_;
  const std::vector<TurnTokens>& turns_;
  const IsStored is_stored_;
  const std::uint32_t last_;                  // behind all stand-ins
  const std::vector<std::uint32_t> modules_;  // of the schema's, in the prompt's order
  std::vector<std::uint32_t> slots_;          // of each
  std::vector<bool> chosen_, is_taken_;
  std::vector<std::optional<std::vector<JobSpec>>> in_slot_;  // jobs if all stood there
};

}  // namespace

std::vector<JobSpec> jobs_in_slots_found(const Layout& layout, const FlatPrompt& flat,
                                         const std::vector<TurnTokens>& turns, IsStored is_stored) {
  const bool declared = !layout.stand_ins.empty() && layout.stand_ins.front().module == kNone;
  if (!declared || layout.attend != Attend::kSlots || flat.is_schema)
    return module_jobs(layout, flat, turns);
  return module_jobs(layout, flat, turns, SlotChoice(layout, flat, turns, is_stored).choose());
}

}  // namespace pc::pml
