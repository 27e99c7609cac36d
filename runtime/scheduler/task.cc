#include "runtime/scheduler/task.h"

#include <algorithm>
#include <new>
#include <utility>

namespace pc {
namespace {

std::uint64_t tokens_of(std::span<const pc_run> runs) {
  std::uint64_t n = 0;
  for (const pc_run& run : runs) n += run.n_tokens;
  return n;
}

}  // namespace

Task::Task(const Work& work)
    : work_(work), n_tokens_(tokens_of(work.runs)), n_before_(work.timeline->n_tokens()) {}

// Runs that bring their own planes are cut between blocks.
pc_step_item Task::piece(std::uint32_t n) {
  pc_step_item item{};
  item.timeline = work_.timeline->get();
  item.cancel = work_.cancel;
  item.ranges = work_.ranges;
  item.n_layers = work_.n_layers;
  item.weights = work_.weights;
  item.first_weighted = work_.first_weighted;
  if (work_.rows) {
    item.row = &Task::take_row;
    item.row_user = this;
    item.first_row = work_.first_row - std::min(work_.first_row, n_done_);
    item.row_kind = work_.row_kind;
  }
  if (n_done_ == 0 && (n >= n_tokens_ || work_.ranges)) {
    item.runs = work_.runs.data();
    item.n_runs = static_cast<std::uint32_t>(work_.runs.size());
    n_piece_ = static_cast<std::uint32_t>(n_tokens_);
  } else {
    runs_.clear();
    planes_.clear();
    planes_.reserve(work_.runs.size());
    n_piece_ = 0;
    std::uint64_t end = 0;  // of the run at hand
    for (const pc_run& run : work_.runs) {
      const std::uint64_t begin = end, from = std::max(begin, n_done_);
      end += run.n_tokens;
      if (end <= n_done_) continue;
      const std::uint32_t n_cut = cut(run, from - begin, n - n_piece_);
      n_piece_ += n_cut;
      // A run that was cut short goes on before the next.
      if (from + n_cut < end || n_piece_ >= n) break;
    }
    item.runs = runs_.data();
    item.n_runs = static_cast<std::uint32_t>(runs_.size());
  }
  if (n_piece_ == left()) item.logits = work_.logits;
  return item;
}

void Task::take_row(void* task, std::uint64_t token, const float* values) {
  const auto* const self = static_cast<const Task*>(task);
  self->work_.rows->take(self->n_done_ + token, values);
}

// Adds at most n of a run's tokens behind the first `skip` to the piece; how many.
std::uint32_t Task::cut(const pc_run& run, std::uint64_t skip, std::uint32_t n) {
  const auto first = static_cast<std::uint32_t>(skip);
  n = std::min(n, run.n_tokens - first);
  const bool ends = first + n == run.n_tokens;
  if (run.planes && !ends) n = std::max(n / kKvBlockTokens, 1u) * kKvBlockTokens;
  n = std::min(n, run.n_tokens - first);
  pc_run part = run;
  part.tokens += first;
  part.n_tokens = n;
  const std::int32_t offset =
      run.positions ? run.positions[first] - run.position : static_cast<std::int32_t>(first);
  part.position += offset;
  part.key_position += offset;
  if (run.positions) part.positions += first;
  part.extend = first == 0 ? run.extend : 1;
  part.keeps_recurrent = first + n == run.n_tokens ? run.keeps_recurrent : 0;
  if (run.planes) {
    pc_kv_planes planes = *run.planes;
    planes.first_block += first / kKvBlockTokens;
    planes_.push_back(planes);
    part.planes = &planes_.back();
  }
  runs_.push_back(part);
  return n;
}

void Task::piece_done(Status result) {
  result_ = std::move(result);
  if (result_.ok()) {
    n_done_ += n_piece_;
    work_.timeline->count(n_piece_);
    finished_ = left() == 0;
    return;
  }
  finished_ = true;
  // What pieces left goes. That a rewinding fails as well is not the news, nor that there is no
  // memory for its sentence.
  lost_place_ = true;
  try {
    const Status back = work_.timeline->rewind(n_before_, work_.timeline->n_attached());
    lost_place_ = !back.ok() || work_.timeline->n_tokens() != n_before_;
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace pc
