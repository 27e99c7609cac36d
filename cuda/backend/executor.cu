#include <algorithm>
#include <functional>
#include <new>
#include <utility>

#include "cuda/backend/executor.h"
#include "runtime/step/guarded.h"

namespace pc::cuda {
namespace {

// Layers that are queued before the first of them is waited for: what a cancelled request may
// still cost, where there are rows enough for that to be long.
constexpr std::uint32_t kLayersAhead = 4;
constexpr std::uint32_t kRowsToPace = 64;

constexpr const char* kOnHost =
    "the CUDA device has no room for all modules and tokens of this request: some of them are in "
    "the host's memory, which is slower";

bool is_whole(const RowRange& range) {
  return range.n_not_finite == 0;
}

}  // namespace

Executor::Executor(const Model& model, Transformer transformer, ModuleCache& modules,
                   PagePool& pages, std::uint32_t max_rows, cudaStream_t stream)
    : model_(model),
      transformer_(std::move(transformer)),
      modules_(modules),
      pages_(pages),
      stream_(stream),
      stepper_(model.limits, max_rows, *this) {
  rows_.slots.reserve(max_rows);
  transformer_.make_room = [modules = &modules_, pages = &pages_] {
    const bool any = modules->let_go(false);
    return pages->let_go() || any;
  };
}

TimelineLength Executor::length(const pc_step_item& item) const {
  const Timeline& timeline = item.timeline->timeline;
  return {timeline.n_tokens(), timeline.n_attached()};
}

void Executor::rewind(const pc_step_item& item, std::uint32_t n_tokens) noexcept {
  Timeline& timeline = item.timeline->timeline;
  timeline.rewind(n_tokens, timeline.n_attached());
}

// The modules that the item has attached are on their way to the device until end_sweep().
Result<bool> Executor::join(pc_step_item& item, bool alone) {
  for (const Timeline::Attached& a : item.timeline->timeline.attached()) {
    if (std::ranges::find(pinned_, a.copy) != pinned_.end()) continue;
    pinned_.reserve(pinned_.size() + 1);
    Status pinned = modules_.pin(a.copy, Room::kDevice);
    if (is_full(pinned) && !alone) return false;
    if (is_full(pinned)) pinned = pin(a.copy);
    PC_CHECK_OK(std::move(pinned));
    if (a.copy->is_on_host()) remark(item, kOnHost);
    pinned_.push_back(a.copy);
  }
  return true;
}

// A module that the device has no room for beside those that the item has pinned already.
Status Executor::pin(const std::shared_ptr<ModuleCopy>& copy) {
  if (pages_.let_go()) {  // what conversations gave back
    Status pinned = modules_.pin(copy, Room::kDevice);
    if (!is_full(pinned)) return pinned;
  }
  return modules_.pin(copy, Room::kDeviceOrHost);
}

// Memory for the tokens' states, and their slots.
Status Executor::append(pc_step_item& item, const pc_run& run, std::uint32_t first,
                        std::uint32_t n) {
  const Timeline& timeline = item.timeline->timeline;
  const std::uint32_t token = timeline.n_tokens();
  PC_CHECK_OK(take_pages(item, run, first, n));
  for (std::uint32_t i = 0; i < n; ++i) rows_.slots.push_back(timeline.slot(token + i));
  return ok();
}

Status Executor::take_pages(pc_step_item& item, const pc_run& run, std::uint32_t first,
                            std::uint32_t n) {
  Timeline& timeline = item.timeline->timeline;
  Status room = timeline.append(run, first, n, Room::kDevice, stream_);
  // Modules that nobody reads now come again when they are wanted.
  if (is_full(room) && modules_.let_go(false))
    room = timeline.append(run, first, n, Room::kDevice, stream_);
  if (!is_full(room)) return room;
  room = timeline.append(run, first, n, Room::kDeviceOrHost, stream_);
  if (is_full(room) && modules_.let_go(true))
    room = timeline.append(run, first, n, Room::kDeviceOrHost, stream_);
  if (room.ok()) remark(item, kOnHost);
  return room;
}

// What each timeline's rows may see, and memory for what is handed out: a sweep that finds none
// may be tried again.
Status Executor::begin_sweep(const Sweep& sweep, const ReadSizes& sizes) {
  sweep_ = &sweep;
  rows_.tokens = sweep.tokens;
  rows_.positions = sweep.positions;
  rows_.key_positions = sweep.key_positions;
  gather_views();
  const std::size_t handed = std::max(std::size_t{sizes.logits} * model_.desc.vocab_size,
                                      std::size_t{sizes.hidden} * model_.desc.d_model);
  if (handed_rows_.size() < handed) handed_rows_.resize(handed);
  handed_to_.reserve(sizes.logits);
  return transformer_.reserve_logits(std::max(sizes.copied_logits, sizes.logits));
}

// The tokens that were just appended included.
void Executor::gather_views() {
  rows_.timelines.clear();
  rows_.weighted.clear();
  gaps_.clear();
  for (const SweepPart& part : sweep_->parts) {
    const pc_step_item& item = *part.item;
    const Timeline& timeline = item.timeline->timeline;
    TimelineRows& rows = rows_.timelines.emplace_back(TimelineRows{part.first, part.n, {}});
    for (const Timeline::Attached& a : timeline.attached())
      rows.views.push_back({a.copy->planes(),
                            a.begin,
                            a.begin + a.n_tokens,
                            a.position,
                            a.key_position,
                            a.hidden.get(),
                            {}});
    add_parts(timeline, &rows.views);
    SweepRows::Weighted& weighted = rows_.weighted.emplace_back();
    if (item.weights)
      weighted = {item.first_weighted, timeline.n_attached() - item.first_weighted, item.weights};
  }
}

// The tokens that a timeline computed itself.
void Executor::add_parts(const Timeline& timeline, std::vector<View>* views) {
  for (const Timeline::Part& p : timeline.parts()) {
    std::span<const std::int32_t> gaps;
    if (!p.positions.empty()) gaps = gaps_.emplace_back(p.positions);
    // Pages that follow each other in memory are one view.
    for (std::uint32_t i = 0; i < p.n_tokens;) {
      const Slot slot = timeline.slot(p.first + i);
      std::uint32_t n = std::min(p.n_tokens - i, kPageTokens - (p.first + i) % kPageTokens);
      for (; i + n < p.n_tokens; n = std::min(n + kPageTokens, p.n_tokens - i)) {
        const Slot next = timeline.slot(p.first + i + n);
        if (next.planes.data != slot.planes.data || next.row != slot.row + n) break;
      }
      const auto at = static_cast<std::int32_t>(i);
      views->push_back({slot.planes, slot.row, slot.row + n, p.position + at, p.key_position + at,
                        nullptr, gaps.empty() ? gaps : gaps.subspan(i, n)});
      if (!gaps.empty()) {
        views->back().position = p.positions[i];
        views->back().key_position = p.key_position + (p.positions[i] - p.position);
      }
      i += n;
    }
  }
}

Status Executor::compute(Proceed proceed) {
  return transformer_.sweep(rows_, sweep_->n_layers(), [&](std::uint32_t layer) -> Result<bool> {
    PC_TRY(const bool goes_on, proceed(layer));
    if (!goes_on || layer == model_.desc.n_layers) return goes_on;
    for (const auto& copy : pinned_) PC_CHECK_OK(modules_.wait(copy, layer));
    PC_CHECK_OK(pace(layer));
    return true;
  });
}

Status Executor::pace(std::uint32_t layer) {
  if (rows_.size() < kRowsToPace) return ok();
  while (layer_events_.size() < kLayersAhead) {
    PC_TRY(Event event, make_event());
    layer_events_.push_back(std::move(event));
  }
  const cudaEvent_t event = layer_events_[layer % kLayersAhead].get();
  if (layer >= kLayersAhead) PC_CHECK_OK(check(cudaEventSynchronize(event), "computing a step"));
  return check(cudaEventRecord(event, stream_), "computing a step");
}

Status Executor::look() {
  PC_TRY(ranges_, transformer_.measure());
  return ok();
}

bool Executor::is_finite(std::uint32_t first_row, std::uint32_t n) const {
  return std::ranges::all_of(ranges_.subspan(first_row, n), is_whole);
}

void Executor::join_range(std::uint32_t first_row, std::uint32_t n, pc_layer_range* range) const {
  for (const RowRange& row : ranges_.subspan(first_row, n)) {
    range->largest = std::max(range->largest, row.largest);
    range->n_not_finite += row.n_not_finite;
  }
}

// Who looked at the stream has waited for all that was queued before.
Status Executor::finish_pass() {
  if (sweep_->n_layers() != 0) PC_CHECK_OK(transformer_.wait());
  PC_CHECK_OK(transformer_.read_weights());
  for (SweepRows::Weighted& w : rows_.weighted) w = {};
  return ok();
}

Result<const float*> Executor::read_hidden(std::span<const std::uint32_t> rows) {
  PC_CHECK_OK(transformer_.read_hidden(rows, handed_rows_.data()));
  return handed_rows_.data();
}

Result<const float*> Executor::read_logits(std::span<const std::uint32_t> rows,
                                           std::span<bool> finite) {
  handed_to_.clear();
  for (std::size_t i = 0; i < rows.size(); ++i)
    handed_to_.push_back(handed_rows_.data() + i * model_.desc.vocab_size);
  PC_CHECK_OK(copy_logits(rows, handed_to_, finite));
  return handed_rows_.data();
}

Status Executor::copy_logits(std::span<const std::uint32_t> rows, std::span<float* const> to,
                             std::span<bool> finite) {
  PC_CHECK_OK(transformer_.read_logits(rows, to, &of_logits_));
  for (std::size_t i = 0; i < finite.size(); ++i) finite[i] = is_whole(of_logits_[i]);
  return ok();
}

// The largest module of the sweep at hand that can goes to the host: scratch wants its memory.
bool Executor::make_room() noexcept {
  cudaStreamSynchronize(stream_);  // what was queued reads it
  std::ranges::sort(pinned_, std::greater<>(), [](const auto& copy) { return copy->bytes(); });
  const bool any = std::ranges::any_of(
      pinned_, [this](const auto& copy) { return modules_.move_to_host(copy); });
  for (const SweepPart& part : sweep_->parts)
    if (any) remark(*part.item, kOnHost);
  return any;
}

void Executor::end_sweep(bool failed) noexcept {
  if (failed) cudaStreamSynchronize(stream_);  // what was queued reads what is reused
  for (const auto& copy : pinned_) modules_.unpin(copy);
  pinned_.clear();
  gaps_.clear();
  rows_.clear();
  sweep_ = nullptr;
}

}  // namespace pc::cuda
