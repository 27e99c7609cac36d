#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "cuda/executor.h"

namespace pc::cuda {
namespace {

// Layers that are queued before the first of them is waited for: what a cancelled request may
// still cost, where there are rows enough for that to be long.
constexpr std::uint32_t kLayersAhead = 4;
constexpr std::uint32_t kRowsToPace = 64;

// Of an item's rows that are handed out one by one: the head's weights are read once for so many,
// and there is memory for the logits of so many.
constexpr std::uint32_t kRowsAtOnce = 32;

bool is_set(const volatile std::int32_t* cancel) {
  return cancel && *cancel != 0;
}

constexpr const char* kOnHost =
    "the CUDA device has no room for all modules and tokens of this request: some of them are in "
    "the host's memory, which is slower";

}  // namespace

Executor::Executor(const Model& model, Transformer transformer, ModuleCache& modules,
                   PagePool& pages, std::uint32_t max_rows, cudaStream_t stream)
    : model_(model),
      transformer_(std::move(transformer)),
      modules_(modules),
      pages_(pages),
      max_rows_(max_rows),
      stream_(stream) {
  transformer_.make_room = [modules = &modules_, pages = &pages_] {
    const bool any = modules->let_go(false);
    return pages->let_go() || any;
  };
}

// Everything that could fail on the caller's side fails here, before any work.
Status Executor::admit(const Item& item) const {
  const pc_step_item& asked = *item.asked;
  std::uint64_t n_tokens = 0;
  for (const pc_run& run : std::span(asked.runs, asked.n_runs)) {
    n_tokens += run.n_tokens;
    PC_CHECK_OK(check_run(run));
  }
  if (n_tokens == 0) return error(Code::kInvalidArgument, "there is no token to compute");
  if (asked.weights && asked.first_weighted > item.timeline->n_attached())
    return error(Code::kInvalidArgument, "the timeline has fewer attachments");
  if (asked.n_layers > model_.desc.n_layers ||
      (asked.n_layers != 0 && (asked.logits || asked.ranges)))
    return error(Code::kInvalidArgument,
                 "the states of " + std::to_string(asked.n_layers) + " layers are asked for alone");
  if (asked.row && (asked.n_layers != 0 || asked.row_kind > PC_ROW_HIDDEN))
    return error(Code::kInvalidArgument, "rows are asked for that no layer has");
  return ok();
}

Status Executor::check_run(const pc_run& run) const {
  if (run.positions && model_.alibi_slopes)
    return error(Code::kUnsupported, "a run whose positions have gaps, of a model with ALiBi");
  if (run.positions) {
    const std::span positions(run.positions, run.n_tokens);
    const bool grow = std::ranges::is_sorted(positions, std::less_equal<>());
    if (!grow || run.planes || (!positions.empty() && positions[0] != run.position))
      return error(Code::kInvalidArgument, "the positions of a run do not grow from its first");
  }
  const std::int64_t end = run.positions && run.n_tokens != 0
                               ? std::int64_t{run.positions[run.n_tokens - 1]} + 1
                               : std::int64_t{run.position} + run.n_tokens;
  const Weight& learned = model_.position_embedding;
  if (learned.data && (run.position < 0 || end > learned.rows)) {
    return error(Code::kContextFull, "position " + std::to_string(end - 1) + " is beyond the " +
                                         std::to_string(learned.rows) +
                                         " positions that the model learned");
  }
  for (const std::int32_t token : std::span(run.tokens, run.n_tokens)) {
    if (token < 0 || static_cast<std::uint32_t>(token) >= model_.desc.vocab_size) {
      return error(Code::kInvalidArgument, "token " + std::to_string(token) +
                                               " is outside the model's vocabulary of " +
                                               std::to_string(model_.desc.vocab_size));
    }
  }
  return ok();
}

void Executor::step(std::span<Item> items) {
  tokens_before_.clear();
  rows_.clear();
  parts_.clear();
  for (Item& item : items) {
    tokens_before_.push_back(item.timeline->n_tokens());
    item.status = admit(item);
    if (item.status.ok()) compute(item);
  }
  if (rows_.size() != 0) sweep();
  unpin_modules();  // of items that failed before they had a row
  for (std::size_t i = 0; i < items.size(); ++i) {
    Item& item = items[i];
    if (item.status.ok()) item.status = write_planes(item, tokens_before_[i]);
    if (!item.status.ok()) item.timeline->rewind(tokens_before_[i], item.timeline->n_attached());
  }
}

// Takes the item's tokens, sweep by sweep; the last ones wait for the next item's. All rows of a
// sweep go through the same layers.
void Executor::compute(Item& item) {
  if (!parts_.empty() && parts_.back().item->asked->n_layers != item.asked->n_layers) sweep();
  const std::span runs(item.asked->runs, item.asked->n_runs);
  std::uint64_t taken = 0, all = 0;
  for (const pc_run& run : runs) all += run.n_tokens;
  for (const pc_run& run : runs) {
    for (std::uint32_t done = 0; done < run.n_tokens;) {
      if (rows_.size() == max_rows_) sweep();
      if (!item.status.ok()) return;
      const std::uint32_t n = std::min(run.n_tokens - done, max_rows_ - rows_.size());
      done += n;
      taken += n;
      take(item, run, done - n, {taken - n, n, taken == all});
    }
  }
}

// Tokens [first, first + n) of a run become rows of the sweep.
void Executor::take(Item& item, const pc_run& run, std::uint32_t first, const Taken& taken) {
  try {
    if (parts_.empty() || parts_.back().item != &item) item.status = pin_modules(item);
    if (item.status.ok()) item.status = add_rows(item, run, first, taken);
  } catch (const std::bad_alloc&) {
    item.status = error(Code::kOutOfMemory, "no memory for more tokens of a conversation");
  }
}

Status Executor::add_rows(Item& item, const pc_run& run, std::uint32_t first, const Taken& taken) {
  const std::uint32_t row = rows_.size(), token = item.timeline->n_tokens(), n = taken.n;
  PC_CHECK_OK(append(item, run, first, n));
  reserve_rows(n);  // nothing fails behind it
  for (std::uint32_t i = 0; i < n; ++i) {
    const auto at = static_cast<std::int32_t>(first + i);
    const std::int32_t step = run.positions ? run.positions[first + i] - run.position : at;
    rows_.tokens.push_back(run.tokens[first + i]);
    rows_.positions.push_back(run.position + step);
    rows_.key_positions.push_back(run.key_position + step);
    rows_.slots.push_back(item.timeline->slot(token + i));
  }
  if (!parts_.empty() && parts_.back().item == &item) {
    parts_.back().n += n;
    parts_.back().ends = taken.ends;
  } else {
    parts_.push_back({&item, row, n, taken.ends, taken.begin});
  }
  return ok();
}

// Memory for the tokens' states.
Status Executor::append(Item& item, const pc_run& run, std::uint32_t first, std::uint32_t n) {
  Status room = item.timeline->append(run, first, n, Room::kDevice, stream_);
  // Modules that nobody reads now come again when they are wanted.
  if (is_full(room) && modules_.let_go(false))
    room = item.timeline->append(run, first, n, Room::kDevice, stream_);
  if (!is_full(room)) return room;
  room = item.timeline->append(run, first, n, Room::kDeviceOrHost, stream_);
  if (is_full(room) && modules_.let_go(true))
    room = item.timeline->append(run, first, n, Room::kDeviceOrHost, stream_);
  if (room.ok()) item.remark = kOnHost;
  return room;
}

void Executor::reserve_rows(std::uint32_t n) {
  const std::size_t room = std::size_t{rows_.size()} + n;
  rows_.tokens.reserve(room);
  rows_.positions.reserve(room);
  rows_.key_positions.reserve(room);
  rows_.slots.reserve(room);
  parts_.reserve(parts_.size() + 1);
}

// All layers over the rows that were taken, and the logits of the items that end with them.
void Executor::sweep() {
  Status done = try_sweep();
  while (is_full(done) && !handed_out_ && move_module_to_host()) done = try_sweep();
  unpin_modules();
  for (const Part& part : parts_)
    if (!done.ok() && part.item->status.ok()) part.item->status = done;
  rows_.clear();
  parts_.clear();
  gaps_.clear();
}

// May be tried again where there was no memory, unless something was handed out.
Status Executor::try_sweep() {
  Status done = ok();
  handed_out_ = false;
  try {
    done = compute_sweep();
  } catch (const std::bad_alloc&) {
    done = error(Code::kOutOfMemory, "no memory to compute a step");
  }
  if (!done.ok()) cudaStreamSynchronize(stream_);  // what was queued reads what is reused
  return done;
}

// The largest one of the sweep at hand that can: scratch wants its memory. Nothing that reads it is
// queued.
bool Executor::move_module_to_host() {
  std::ranges::sort(pinned_, std::greater<>(), [](const auto& copy) { return copy->bytes(); });
  const bool any = std::ranges::any_of(
      pinned_, [this](const auto& copy) { return modules_.move_to_host(copy); });
  for (const Part& part : parts_)
    if (any) part.item->remark = kOnHost;
  return any;
}

// What each timeline's rows may see, those that were just taken included.
void Executor::gather_views() {
  rows_.timelines.clear();
  rows_.weighted.clear();
  gaps_.clear();
  for (const Part& part : parts_) {
    const Timeline& timeline = *part.item->timeline;
    const pc_step_item& asked = *part.item->asked;
    TimelineRows& rows = rows_.timelines.emplace_back(TimelineRows{part.first, part.n, {}});
    for (const Timeline::Attached& a : timeline.attached())
      rows.views.push_back({a.copy->planes(),
                            a.begin,
                            a.begin + a.n_tokens,
                            a.position,
                            a.key_position,
                            a.hidden.get(),
                            {}});
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
        rows.views.push_back({slot.planes, slot.row, slot.row + n, p.position + at,
                              p.key_position + at, nullptr,
                              gaps.empty() ? gaps : gaps.subspan(i, n)});
        if (!gaps.empty()) {
          rows.views.back().position = p.positions[i];
          rows.views.back().key_position = p.key_position + (p.positions[i] - p.position);
        }
        i += n;
      }
    }
    SweepRows::Weighted& weighted = rows_.weighted.emplace_back();
    if (asked.weights)
      weighted = {asked.first_weighted, timeline.n_attached() - asked.first_weighted,
                  asked.weights};
  }
}

// The modules that the item has attached are on their way to the device until unpin_modules().
// Items whose modules do not fit beside each other take turns.
Status Executor::pin_modules(Item& item) {
  for (const Timeline::Attached& a : item.timeline->attached()) {
    if (std::ranges::find(pinned_, a.copy) != pinned_.end()) continue;
    pinned_.reserve(pinned_.size() + 1);
    Status pinned = modules_.pin(a.copy, Room::kDevice);
    if (is_full(pinned) && !parts_.empty()) {
      sweep();
      return pin_modules(item);
    }
    if (is_full(pinned)) pinned = pin(a.copy);
    PC_CHECK_OK(std::move(pinned));
    if (a.copy->is_on_host()) item.remark = kOnHost;
    pinned_.push_back(a.copy);
  }
  return ok();
}

// A module that the device has no room for beside those that the item has pinned already.
Status Executor::pin(const std::shared_ptr<ModuleCopy>& copy) {
  if (pages_.let_go()) {  // what conversations gave back
    Status pinned = modules_.pin(copy, Room::kDevice);
    if (!is_full(pinned)) return pinned;
  }
  return modules_.pin(copy, Room::kDeviceOrHost);
}

void Executor::unpin_modules() {
  for (const auto& copy : pinned_) modules_.unpin(copy);
  pinned_.clear();
}

Status Executor::compute_sweep() {
  gather_views();
  looks_ = std::ranges::any_of(parts_, [](const Part& p) { return p.item->asked->ranges; });
  const std::uint32_t n_layers = parts_.front().item->asked->n_layers;
  PC_CHECK_OK(reserve_results());
  PC_CHECK_OK(
      transformer_.sweep(rows_, n_layers, [this](std::uint32_t layer) { return proceed(layer); }));
  if (n_layers != 0) {
    handed_out_ = true;
    PC_CHECK_OK(transformer_.read_weights());
    return check(cudaStreamSynchronize(stream_), "computing a step");
  }
  PC_TRY(const auto ranges, transformer_.measure());
  const bool finite = std::ranges::all_of(parts_, [&](const Part& part) {
    const auto broken = [](const RowRange& r) { return r.n_not_finite != 0; };
    return !part.item->status.ok() || part.item->asked->ranges ||
           std::ranges::none_of(ranges.subspan(part.first, part.n), broken);
  });
  handed_out_ = true;
  PC_CHECK_OK(transformer_.read_weights());
  if (!finite) PC_CHECK_OK(find_cause());
  for (const Part& part : parts_)
    if (part.item->asked->row && part.item->status.ok()) PC_CHECK_OK(read_rows(part));
  return read_logits();
}

// Memory for what is handed out, so that a sweep that finds none may be tried again.
Status Executor::reserve_results() {
  const auto n_logits = static_cast<std::uint32_t>(
      std::ranges::count_if(parts_, [](const Part& p) { return p.ends && p.item->asked->logits; }));
  std::uint32_t n_rows = 0, n_logit_rows = 0;
  for (const Part& part : parts_) {
    if (!part.item->asked->row) continue;
    n_rows = std::max(n_rows, std::min(kRowsAtOnce, part.n));
    if (part.item->asked->row_kind == PC_ROW_LOGITS) n_logit_rows = n_rows;
  }
  const std::size_t width = n_logit_rows != 0
                                ? std::max(model_.desc.vocab_size, model_.desc.d_model)
                                : model_.desc.d_model;
  if (handed_rows_.size() < n_rows * width) handed_rows_.resize(n_rows * width);
  return transformer_.reserve_logits(std::max(n_logits, n_logit_rows));
}

// Once more, to name the layer: keys and values are written anew.
Status Executor::find_cause() {
  for (SweepRows::Weighted& w : rows_.weighted) w = {};
  return transformer_.sweep(rows_, 0, [this](std::uint32_t layer) { return look(layer, true); });
}

// Between layers: who was cancelled, and have the next layer's modules arrived?
Result<bool> Executor::proceed(std::uint32_t layer) {
  bool any = false;
  for (const Part& part : parts_) {
    Status& status = part.item->status;
    if (status.ok() && layer < model_.desc.n_layers && is_set(part.item->asked->cancel))
      status = error(Code::kCancelled, "cancelled");
    any |= status.ok();
  }
  if (!any) return false;
  if (looks_) PC_CHECK_OK(look(layer, false));
  if (layer == model_.desc.n_layers) return true;
  for (const auto& copy : pinned_) PC_CHECK_OK(modules_.wait(copy, layer));
  PC_CHECK_OK(pace(layer));
  return true;
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

// What the stream looks like behind a layer: for those who measure, or to name where numbers
// stop being finite. False when nobody is left.
Result<bool> Executor::look(std::uint32_t n_layers_done, bool for_cause) {
  PC_TRY(const auto ranges, transformer_.measure());
  bool any = false;
  for (const Part& part : parts_) {
    Item& item = *part.item;
    if (!item.status.ok()) continue;
    for (std::uint32_t row = part.first; row < part.first + part.n; ++row) {
      const RowRange& range = ranges[row];
      if (!for_cause && item.asked->ranges) {
        handed_out_ = true;
        pc_layer_range& to = item.asked->ranges[n_layers_done];
        to.largest = std::max(to.largest, range.largest);
        to.n_not_finite += range.n_not_finite;
      } else if (for_cause && !item.asked->ranges && range.n_not_finite != 0) {
        const std::string where = n_layers_done == 0
                                      ? "the embedding"
                                      : "layer " + std::to_string(n_layers_done) + " of " +
                                            std::to_string(model_.desc.n_layers);
        item.status =
            error(Code::kNotFinite,
                  "the model computed numbers that are not finite: they begin in " + where +
                      ", for the token at position " + std::to_string(rows_.positions[row]));
        break;
      }
    }
    any |= item.status.ok();
  }
  return any;
}

// Hands out what is wanted of a part's tokens.
Status Executor::read_rows(const Part& part) {
  Item& item = *part.item;
  const pc_step_item& asked = *item.asked;
  const bool hidden = asked.row_kind == PC_ROW_HIDDEN;
  const std::size_t width = hidden ? model_.desc.d_model : model_.desc.vocab_size;
  std::vector<std::uint32_t> rows;
  std::vector<float*> to;
  std::vector<RowRange> ranges;
  for (std::uint64_t token = std::max(part.begin, asked.first_row); token < part.begin + part.n;) {
    if (is_set(asked.cancel)) {
      item.status = error(Code::kCancelled, "cancelled");
      return ok();
    }
    const std::uint64_t n = std::min<std::uint64_t>(kRowsAtOnce, part.begin + part.n - token);
    rows.clear();
    to.clear();
    for (std::uint64_t i = 0; i < n; ++i) {
      rows.push_back(part.first + static_cast<std::uint32_t>(token - part.begin + i));
      to.push_back(handed_rows_.data() + i * width);
    }
    if (hidden)
      PC_CHECK_OK(transformer_.read_hidden(rows, handed_rows_.data()));
    else
      PC_CHECK_OK(transformer_.read_logits(rows, to, &ranges));
    for (std::uint64_t i = 0; i < n; ++i) {
      if (!hidden && !are_finite(item, ranges[i])) return ok();
      asked.row(asked.row_user, token++, to[i]);
    }
  }
  return ok();
}

// Who gets the logits looks at them; but a cap makes infinity a number like others.
bool Executor::are_finite(Item& item, const RowRange& logits) const {
  if (logits.n_not_finite == 0 || model_.desc.logit_softcap == 0.0f || item.asked->ranges)
    return true;
  item.status = error(Code::kNotFinite,
                      "the model computed logits that are not finite, before they are capped");
  return false;
}

// For the items whose last token was in this sweep.
Status Executor::read_logits() {
  std::vector<std::uint32_t> last_rows;
  std::vector<float*> to;
  std::vector<Item*> items;
  for (const Part& part : parts_) {
    if (!part.ends || !part.item->asked->logits || !part.item->status.ok()) continue;
    last_rows.push_back(part.first + part.n - 1);
    to.push_back(part.item->asked->logits);
    items.push_back(part.item);
  }
  if (items.empty()) return ok();
  std::vector<RowRange> ranges;
  PC_CHECK_OK(transformer_.read_logits(last_rows, to, &ranges));
  for (std::size_t i = 0; i < items.size(); ++i) are_finite(*items[i], ranges[i]);
  return ok();
}

}  // namespace pc::cuda
