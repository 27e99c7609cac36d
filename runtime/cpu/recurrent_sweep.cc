#include "runtime/cpu/recurrent_sweep.h"

#include <algorithm>
#include <new>

#include "runtime/backend/layer_parts.h"

namespace pc {

RecurrentSweep::RecurrentSweep(const pc_model_desc& desc)
    : desc_(desc), is_recurrent_(n_state_numbers(desc) != 0) {}

Status RecurrentSweep::append(const pc_step_item& item, const pc_run& run, std::uint32_t first,
                              std::uint32_t n, std::uint32_t first_row) {
  if (!is_recurrent_) return ok();
  pc_backend_timeline& timeline = *item.timeline;
  // Where positions have gaps, something may be attached in each.
  for (std::uint32_t i = run.positions ? first : first + n - 1; i < first + n; ++i) {
    const std::int32_t position =
        run.positions ? run.positions[i] : run.position + static_cast<std::int32_t>(i);
    if (!timeline.recurrent.knows(position))
      return error(Code::kUnsupported,
                   "what is attached last has no states of the model's recurrent layers");
  }
  return run.state_map ? append_mapped(timeline, run, first, n, first_row) : ok();
}

Status RecurrentSweep::append_mapped(pc_backend_timeline& timeline, const pc_run& run,
                                     std::uint32_t first, std::uint32_t n,
                                     std::uint32_t first_row) {
  const pc_state_map& map = *run.state_map;
  try {
    mapped_.reserve(mapped_.size() + 1);
    if (first == 0 && !run.extend)
      timeline.made = std::make_shared<MadeMap>(desc_, map.n_tokens, map.numbers);
  } catch (const std::bad_alloc&) {
    return error(Code::kOutOfMemory, "no memory for the map of a module's states");
  }
  std::shared_ptr<MadeMap>& made = timeline.made;
  if (!made || made->numbers() != map.numbers || made->n_tokens() - made->n_taken() < n)
    return error(Code::kInvalidArgument, "a run goes on of which no map was begun");
  if (!mapped_.empty() && mapped_.back().made == made)
    return error(Code::kInvalidArgument,
                 "a run of which a map is made comes in two pieces at once");
  mapped_.push_back({&timeline, first_row, n, made->n_taken(), made});
  made->take(n);
  return ok();
}

void RecurrentSweep::forget_from(std::uint32_t first_row) {
  std::erase_if(mapped_, [&](const MappedRows& mapped) { return mapped.first >= first_row; });
}

void RecurrentSweep::begin(const Sweep& sweep) {
  rows_.clear();
  swept_.clear();
  maps_.clear();
  if (!is_recurrent_) return;
  for (const SweepPart& part : sweep.parts) cut(sweep, part);
}

// A sweep writes new states, and reads those before it: it may be computed again.
void RecurrentSweep::cut(const Sweep& sweep, const SweepPart& part) {
  pc_backend_timeline& timeline = *part.item->timeline;
  RecurrentStates& states = timeline.recurrent;
  states.pass_again();
  float* const after = states.next();
  const float* before = states.now();
  const std::uint32_t end = part.first + part.n;
  const auto positions = sweep.positions.begin();
  for (std::uint32_t row = part.first, stop = end; row < end; row = stop, before = after) {
    std::vector<AttachedMap>& maps = maps_.emplace_back();
    states.pass(sweep.positions[row], &maps);
    // States that are attached are read where they lie.
    const bool replaced = before != after && !maps.empty() && !maps.front().shape;
    if (replaced) before = maps.front().numbers;
    stop = static_cast<std::uint32_t>(
        std::upper_bound(positions + row, positions + end, states.next_attached()) - positions);
    const MappedRows* const mapped = mapped_at(row);
    const bool is_inside = mapped && mapped->first <= row;
    if (mapped) stop = std::min(stop, is_inside ? mapped->first + mapped->n : mapped->first);
    rows_.push_back({row, stop - row, before, after, std::span(maps).subspan(replaced ? 1 : 0)});
    if (!is_inside) continue;
    rows_.back().made = mapped->made.get();
    rows_.back().made_first = mapped->map_first + row - mapped->first;
  }
  swept_.push_back({&timeline, sweep.positions[end - 1] + 1, part.keeps_recurrent});
}

// Those that have the row, or else the next behind it.
const RecurrentSweep::MappedRows* RecurrentSweep::mapped_at(std::uint32_t row) const {
  const auto found = std::ranges::find_if(
      mapped_, [row](const MappedRows& mapped) { return row < mapped.first + mapped.n; });
  return found == mapped_.end() ? nullptr : &*found;
}

// Of a sweep that failed there are no states: its items go back to where they began.
void RecurrentSweep::end(bool failed) noexcept {
  for (const MappedRows& mapped : mapped_) {
    if (failed) continue;
    mapped.made->commit(mapped.n);
    const bool is_done = mapped.made->n_done() == mapped.made->n_tokens();
    if (is_done && mapped.timeline->made == mapped.made) mapped.timeline->made.reset();
  }
  for (const auto& [timeline, end, kept] : swept_)
    if (!failed) timeline->recurrent.commit(timeline->timeline.n_tokens(), end, kept);
  mapped_.clear();
  swept_.clear();
}

}  // namespace pc
