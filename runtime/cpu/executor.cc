#include "runtime/cpu/executor.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <string>
#include <utility>

#include "base/mapped_file.h"  // n_lost_mappings
#include "runtime/backend/layer_parts.h"

namespace pc {

Executor::Executor(const pc_model_desc& desc, const simd::Kernels& kernels, Parallel parallel,
                   std::uint32_t max_rows, const PackedWeights& packed, Precision precision)
    : desc_(desc),
      kernels_(kernels),
      packed_(packed),
      is_recurrent_(n_state_numbers(desc) != 0),
      transformer_(desc, kernels, parallel, max_rows, packed, precision),
      recurrent_(desc),
      stepper_(limits_of(desc), max_rows, *this) {
  rows_.slots.reserve(max_rows);
}

TimelineLength Executor::length(const pc_step_item& item) const {
  const Timeline& timeline = item.timeline->timeline;
  return {timeline.n_tokens(), timeline.n_attached()};
}

void Executor::rewind(const pc_step_item& item, std::uint32_t n_tokens) noexcept {
  Timeline& timeline = item.timeline->timeline;
  timeline.rewind(n_tokens, timeline.n_attached());
  item.timeline->recurrent.rewind(n_tokens, timeline.n_attached());
  item.timeline->made.reset();
}

// Modules are read where they lie.
Result<bool> Executor::join(pc_step_item& item, bool) {
  if (is_recurrent_ && item.n_layers != 0)
    return error(Code::kUnsupported, "a model whose layers carry states is computed whole");
  return true;
}

Status Executor::append(pc_step_item& item, const pc_run& run, std::uint32_t first,
                        std::uint32_t n) {
  const std::size_t n_rows = rows_.slots.size();
  PC_CHECK_OK(recurrent_.append(item, run, first, n, static_cast<std::uint32_t>(n_rows)));
  try {
    item.timeline->timeline.append(run, first, n, &rows_.slots);
  } catch (const std::bad_alloc&) {
    rows_.slots.resize(n_rows);
    recurrent_.forget_from(static_cast<std::uint32_t>(n_rows));
    return error(Code::kOutOfMemory,
                 "no memory for the states of " + std::to_string(run.n_tokens) + " more tokens");
  }
  return ok();
}

// What each timeline's rows may see, those that were just taken included.
Status Executor::begin_sweep(const Sweep& sweep, const ReadSizes&) {
  rows_.tokens = sweep.tokens;
  rows_.positions = sweep.positions;
  rows_.key_positions = sweep.key_positions;
  rows_.timelines.clear();
  n_layers_ = sweep.n_layers();
  segments_.clear();
  segment_ends_.clear();
  for (const SweepPart& part : sweep.parts) {
    part.item->timeline->timeline.add_segments(&segments_);
    segment_ends_.push_back(segments_.size());
  }
  const std::span<const KvSegment> all(segments_);
  for (std::size_t i = 0, begin = 0; i < sweep.parts.size(); begin = segment_ends_[i++]) {
    const SweepPart& part = sweep.parts[i];
    TimelineRows& rows = rows_.timelines.emplace_back();
    rows = {part.first, part.n, all.subspan(begin, segment_ends_[i] - begin)};
    const pc_step_item& item = *part.item;
    if (!item.weights) continue;
    const std::size_t n = item.timeline->timeline.n_attached() - item.first_weighted;
    rows.weighted = rows.segments.subspan(item.first_weighted, n);
    rows.weights = item.weights;
  }
  is_swept_ = false;
  find_read_rows(sweep);
  recurrent_.begin(sweep);
  rows_.recurrent = recurrent_.rows();
  return ok();
}

// Of an item that hands out each token, or what each is given, all rows; and of all items where one
// measures its layers.
void Executor::find_read_rows(const Sweep& sweep) {
  read_.clear();
  const bool measures =
      std::ranges::any_of(sweep.parts, [](const SweepPart& part) { return part.item->ranges; });
  for (std::size_t i = 0; i < sweep.parts.size(); ++i) {
    const SweepPart& part = sweep.parts[i];
    const pc_step_item& item = *part.item;
    if (measures || item.weights || item.row)
      read_.add(rows_, part.first, part.n, rows_.timelines[i]);
    else if (part.ends && item.logits)
      read_.add(rows_, part.first + part.n - 1, 1, rows_.timelines[i]);
  }
}

// Layers behind the last that has states are for those who read what comes out. Whoever has to see
// all of the stream behind each layer has the rows swept once more.
Status Executor::compute(Proceed proceed) {
  if (n_layers_ != 0) return transformer_.sweep_states(rows_, n_layers_, proceed);
  const bool again = std::exchange(is_swept_, true);
  const bool cuts =
      transformer_.n_layers_to_states() < desc_.n_layers && read_.numbers.size() < rows_.size();
  return cuts && !again ? transformer_.sweep_for(rows_, read_, proceed)
                        : transformer_.sweep(rows_, proceed);
}

Status Executor::look() {
  return ok();
}

bool Executor::is_finite(std::uint32_t first_row, std::uint32_t n) const {
  const std::span<const float> stream = transformer_.stream(first_row, n);
  return kernels_.all_finite(stream.data(), simd::Type::kF32, stream.size());
}

void Executor::join_range(std::uint32_t first_row, std::uint32_t n, pc_layer_range* range) const {
  for (const float x : transformer_.stream(first_row, n)) {
    if (std::isfinite(x)) {
      range->largest = std::max(range->largest, std::fabs(x));
    } else {
      ++range->n_not_finite;
    }
  }
}

// Attention has added the weights by itself.
Status Executor::finish_pass() {
  for (TimelineRows& rows : rows_.timelines) rows.weights = nullptr;
  return ok();
}

Result<const float*> Executor::read_hidden(std::span<const std::uint32_t> rows) {
  return transformer_.read_hidden(rows);
}

Result<const float*> Executor::read_logits(std::span<const std::uint32_t> rows,
                                           std::span<bool> finite) {
  float* logits = logits_room(rows.size());
  PC_CHECK_OK(transformer_.read_logits(rows, logits));
  for (std::size_t i = 0; i < rows.size(); ++i) cap(logits + i * desc_.vocab_size, finite, i);
  return logits;
}

Status Executor::copy_logits(std::span<const std::uint32_t> rows, std::span<float* const> to,
                             std::span<bool> finite) {
  if (rows.size() == 1) {
    PC_CHECK_OK(transformer_.read_logits(rows, to[0]));
    cap(to[0], finite, 0);
    return ok();
  }
  PC_TRY(const float* logits, read_logits(rows, finite));
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(logits + i * desc_.vocab_size, desc_.vocab_size, to[i]);
  return ok();
}

float* Executor::logits_room(std::size_t n_rows) {
  const std::size_t room =
      (n_rows + kGemmRowGranule - 1) / kGemmRowGranule * kGemmRowGranule * desc_.vocab_size;
  if (logits_.size() < room) logits_ = AlignedBuffer<float>(room);
  return logits_.data();
}

// logits: [vocab_size] of the row'th row that is read.
void Executor::cap(float* logits, std::span<bool> finite, std::size_t row) const {
  if (!finite.empty())
    finite[row] = kernels_.all_finite(logits, simd::Type::kF32, desc_.vocab_size);
  transformer_.cap_logits(logits);
}

bool Executor::make_room() noexcept {
  return false;
}

void Executor::end_sweep(bool failed) noexcept {
  rows_.slots.clear();
  recurrent_.end(failed);
}

// States have been written to where the runs say. What was computed from zeros in the place of
// weights counts for nothing (docs/adr/0028).
Status Executor::finish(const pc_step_item& item, std::uint32_t first_token) {
  pc_backend_timeline& t = *item.timeline;
  t.recurrent.end_step(first_token, t.timeline.n_tokens() - first_token);
  if (n_lost_mappings() == 0 || !packed_.is_lost()) return ok();
  return error(Code::kIo,
               "the file of packed weights was cut short, or cannot be read any more, while "
               "it was in use; open the model again");
}

}  // namespace pc
