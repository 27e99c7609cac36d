#include "runtime/step/stepper.h"

#include <algorithm>
#include <string>

#include "base/progress.h"  // is_set, cancelled
#include "runtime/step/guarded.h"

namespace pc {
namespace {

// Of an item's rows that are handed out one by one. The head's weights are read once for so many,
// which is enough for products to be as fast as they get; their logits are 20 MB of the largest
// vocabularies.
constexpr std::uint32_t kRowsAtOnce = 32;

constexpr auto kOutOfMemory = static_cast<std::int32_t>(Code::kOutOfMemory);

bool wants_logits(const SweepPart& part) {
  return part.ends && part.item->logits && is_well(*part.item);
}

}  // namespace

Stepper::Stepper(const StepLimits& limits, std::uint32_t max_rows, StepDevice& device)
    : limits_(limits),
      max_rows_(max_rows),
      device_(device),
      finite_(std::make_unique<bool[]>(max_rows)) {
  for (auto* column : {&sweep_.tokens, &sweep_.positions, &sweep_.key_positions})
    column->reserve(max_rows);
  rows_.reserve(max_rows);
  to_.reserve(max_rows);
}

void Stepper::step(std::span<pc_step_item> items) {
  tokens_before_.clear();
  for (const pc_step_item& item : items)
    tokens_before_.push_back(device_.length(item).n_tokens);  // nothing throws behind it
  for (pc_step_item& item : items) {
    item.status = 0;
    tell(&item.error, "");
    attempt(item, [&] { return admit(limits_, item, device_.length(item).n_attached); });
    if (is_well(item)) take(item);
  }
  sweep();
  for (std::size_t i = 0; i < items.size(); ++i) {
    pc_step_item& item = items[i];
    if (is_well(item)) attempt(item, [&] { return device_.finish(item, tokens_before_[i]); });
    if (!is_well(item)) device_.rewind(item, tokens_before_[i]);
  }
}

// Takes the item's tokens, sweep by sweep; the last ones wait for the next item's.
void Stepper::take(pc_step_item& item) {
  if (!sweep_.empty() && sweep_.n_layers() != item.n_layers) sweep();
  const std::uint64_t n_tokens = count_tokens(item);
  std::uint64_t taken = 0;
  for (const pc_run& run : std::span(item.runs, item.n_runs)) {
    for (std::uint32_t done = 0; done < run.n_tokens;) {
      if (sweep_.n_rows() == max_rows_) sweep();
      if (!is_well(item)) return;
      const std::uint32_t n = std::min(run.n_tokens - done, max_rows_ - sweep_.n_rows());
      attempt(item, [&] { return add(item, {run, done, n, taken, taken + n == n_tokens}); });
      done += n;
      taken += n;
    }
    // States are known where a sweep ends.
    if (run.keeps_recurrent && is_well(item)) {
      sweep_.parts.back().keeps_recurrent = true;
      sweep();
    }
  }
}

Status Stepper::add(pc_step_item& item, const Piece& piece) {
  if (!sweep_.ends_with(item)) PC_CHECK_OK(join(item));
  if (sweep_.parts.size() == sweep_.parts.capacity())
    sweep_.parts.reserve(2 * sweep_.parts.size() + 1);
  PC_CHECK_OK(device_.append(item, piece.run, piece.first, piece.n));
  add_rows(item, piece);  // nothing fails behind append()
  return ok();
}

// Items for which there is no room beside each other take turns.
Status Stepper::join(pc_step_item& item) {
  PC_TRY(const bool joins, device_.join(item, sweep_.empty()));
  if (joins) return ok();
  sweep();
  PC_TRY(const bool joins_alone, device_.join(item, true));
  PC_EXPECT(joins_alone);
  return ok();
}

void Stepper::add_rows(pc_step_item& item, const Piece& piece) {
  const pc_run& run = piece.run;
  if (!sweep_.ends_with(item))
    sweep_.parts.push_back({&item, sweep_.n_rows(), 0, piece.begin, false});
  sweep_.parts.back().n += piece.n;
  sweep_.parts.back().ends = piece.ends;
  for (std::uint32_t i = piece.first; i < piece.first + piece.n; ++i) {
    const auto step =
        run.positions ? run.positions[i] - run.position : static_cast<std::int32_t>(i);
    sweep_.tokens.push_back(run.tokens[i]);
    sweep_.positions.push_back(run.position + step);
    sweep_.key_positions.push_back(run.key_position + step);
  }
}

// All layers over the rows that were taken, and what is read of them.
void Stepper::sweep() {
  pc_backend_error e{};
  std::int32_t status = 0;
  if (!sweep_.empty()) {
    do {
      status = guarded(&e, [this] { return compute(); });
    } while (status == kOutOfMemory && !handed_out_ && device_.make_room());
  }
  for (const SweepPart& part : sweep_.parts)
    if (status != 0) fail(*part.item, status, e.message);
  device_.end_sweep(status != 0);
  sweep_.clear();
}

// A layer adds to the stream, and NaN and infinity stay what they are under addition: one
// look at its end sees those of every layer, and costs a row no more than a norm does.
Status Stepper::compute() {
  handed_out_ = false;
  PC_CHECK_OK(device_.begin_sweep(sweep_, read_sizes()));
  PC_CHECK_OK(device_.compute([this](std::uint32_t n) { return proceed(n); }));
  const bool has_stream = sweep_.n_layers() == 0;
  if (has_stream) PC_CHECK_OK(device_.look());
  const bool finite = !has_stream || std::ranges::all_of(sweep_.parts, [this](const auto& part) {
    return !is_well(*part.item) || part.item->ranges || device_.is_finite(part.first, part.n);
  });
  handed_out_ = true;
  PC_CHECK_OK(device_.finish_pass());
  if (!has_stream) return ok();
  if (!finite) {  // once more, to name the layer: keys and values are written anew
    PC_CHECK_OK(device_.compute([this](std::uint32_t n) { return find_cause(n); }));
    PC_CHECK_OK(device_.finish_pass());
  }
  for (const SweepPart& part : sweep_.parts)
    if (part.item->row && is_well(*part.item)) PC_CHECK_OK(hand_out_rows(part));
  return copy_logits();
}

ReadSizes Stepper::read_sizes() const {
  ReadSizes sizes;
  for (const SweepPart& part : sweep_.parts) {
    if (wants_logits(part)) ++sizes.copied_logits;
    if (!part.item->row) continue;
    std::uint32_t& n = part.item->row_kind == PC_ROW_HIDDEN ? sizes.hidden : sizes.logits;
    n = std::max(n, std::min(kRowsAtOnce, part.n));
  }
  return sizes;
}

// Between layers: who was cancelled, what the stream looks like. False when nobody is left.
Result<bool> Stepper::proceed(std::uint32_t n_layers_done) {
  bool any = false, measures = false;
  for (const SweepPart& part : sweep_.parts) {
    pc_step_item& item = *part.item;
    if (n_layers_done < limits_.n_layers && is_set(item.cancel)) fail(item, cancelled());
    any |= is_well(item);
    measures |= is_well(item) && item.ranges;
  }
  if (!measures) return any;
  PC_CHECK_OK(device_.look());
  handed_out_ = true;
  for (const SweepPart& part : sweep_.parts)
    if (is_well(*part.item) && part.item->ranges)
      device_.join_range(part.first, part.n, &part.item->ranges[n_layers_done]);
  return true;
}

// Behind a layer of the second pass: whose numbers stop being finite here?
Result<bool> Stepper::find_cause(std::uint32_t n_layers_done) {
  PC_CHECK_OK(device_.look());
  bool any = false;
  for (const SweepPart& part : sweep_.parts) {
    pc_step_item& item = *part.item;
    if (!is_well(item)) continue;
    if (n_layers_done < limits_.n_layers && is_set(item.cancel))
      fail(item, cancelled());
    else if (!item.ranges && !device_.is_finite(part.first, part.n))
      fail(item, not_finite(part, n_layers_done));
    any |= is_well(item);
  }
  return any;
}

// Names where it began, and the first token that is concerned.
Error Stepper::not_finite(const SweepPart& part, std::uint32_t n_layers_done) const {
  std::uint32_t row = part.first;
  while (device_.is_finite(row, 1)) ++row;
  const std::string where = n_layers_done == 0 ? "the embedding"
                                               : "layer " + std::to_string(n_layers_done) + " of " +
                                                     std::to_string(limits_.n_layers);
  return error(Code::kNotFinite, "the model computed numbers that are not finite: they begin in " +
                                     where + ", for the token at position " +
                                     std::to_string(sweep_.positions[row]));
}

// Hands out what is wanted of a part's tokens.
Status Stepper::hand_out_rows(const SweepPart& part) {
  pc_step_item& item = *part.item;
  const bool hidden = item.row_kind == PC_ROW_HIDDEN;
  const std::uint64_t end = part.begin + part.n;
  for (std::uint64_t token = std::max(part.begin, item.first_row); token < end;) {
    if (is_set(item.cancel)) return fail(item, cancelled()), ok();
    const auto n = static_cast<std::uint32_t>(std::min<std::uint64_t>(kRowsAtOnce, end - token));
    rows_.clear();
    for (std::uint32_t i = 0; i < n; ++i)
      rows_.push_back(part.first + static_cast<std::uint32_t>(token - part.begin) + i);
    const std::span<bool> finite = flags(hidden ? 0 : n);
    PC_TRY(const float* values,
           hidden ? device_.read_hidden(rows_) : device_.read_logits(rows_, finite));
    for (std::uint32_t i = 0; i < n; ++i) {
      if (fails_by(item, finite, i)) return ok();
      item.row(item.row_user, token++, values);
      values += hidden ? limits_.d_model : limits_.vocab_size;
    }
  }
  return ok();
}

// For the items whose last token was in this sweep.
Status Stepper::copy_logits() {
  rows_.clear();
  to_.clear();
  for (const SweepPart& part : sweep_.parts) {
    if (!wants_logits(part)) continue;
    rows_.push_back(part.first + part.n - 1);
    to_.push_back(part.item->logits);
  }
  if (rows_.empty()) return ok();
  const std::span<bool> finite = flags(rows_.size());
  PC_CHECK_OK(device_.copy_logits(rows_, to_, finite));
  std::size_t i = 0;
  for (const SweepPart& part : sweep_.parts)
    if (wants_logits(part)) fails_by(*part.item, finite, i++);
  return ok();
}

// Who gets the logits looks at them; but a cap makes infinity a number like others.
std::span<bool> Stepper::flags(std::size_t n) const {
  return {finite_.get(), limits_.caps_logits ? n : 0};
}

bool Stepper::fails_by(pc_step_item& item, std::span<const bool> finite, std::size_t i) const {
  if (finite.empty() || finite[i] || item.ranges) return false;
  fail(item, error(Code::kNotFinite,
                   "the model computed logits that are not finite, before they are capped"));
  return true;
}

}  // namespace pc
