#include "runtime/cpu/executor.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <new>

#include "base/progress.h"  // is_set, cancelled

namespace pc {
namespace {

// Of an item's rows that are handed out one by one. The head's weights are read once for so many,
// which is enough for products to be as fast as they get; their logits are 20 MB of the largest
// vocabularies.
constexpr std::uint32_t kRowsAtOnce = 32;

void join(std::span<const float> stream, pc_layer_range& range) {
  for (const float x : stream) {
    if (std::isfinite(x)) {
      range.largest = std::max(range.largest, std::fabs(x));
    } else {
      ++range.n_not_finite;
    }
  }
}

}  // namespace

Executor::Executor(const pc_model_desc& desc, KvType type, const simd::Kernels& kernels,
                   Parallel parallel, std::uint32_t max_rows, const PackedWeights& packed,
                   Precision precision)
    : desc_(desc),
      kernels_(kernels),
      max_rows_(max_rows),
      transformer_(desc, type, kernels, parallel, max_rows, packed, precision) {
  rows_.reserve(max_rows);
}

// Everything that could fail on the caller's side fails here, before any work.
Status Executor::admit(const Item& item) const {
  std::uint64_t n_tokens = 0;
  for (const pc_run& run : item.runs) {
    n_tokens += run.n_tokens;
    PC_CHECK_OK(check_positions(run));
    const std::int64_t last =
        run.positions && run.n_tokens != 0 ? run.positions[run.n_tokens - 1] : run.position;
    const std::int64_t end = run.positions ? last + 1 : last + run.n_tokens;
    if (desc_.position_embedding.data &&
        (run.position < 0 || end > desc_.position_embedding.rows)) {
      return error(Code::kContextFull, "position " + std::to_string(end - 1) + " is beyond the " +
                                           std::to_string(desc_.position_embedding.rows) +
                                           " positions that the model learned");
    }
    for (std::uint32_t i = 0; i < run.n_tokens; ++i) {
      if (run.tokens[i] < 0 || static_cast<std::uint32_t>(run.tokens[i]) >= desc_.vocab_size) {
        return error(Code::kInvalidArgument, "token " + std::to_string(run.tokens[i]) +
                                                 " is outside the model's vocabulary of " +
                                                 std::to_string(desc_.vocab_size));
      }
    }
  }
  if (n_tokens == 0) return error(Code::kInvalidArgument, "there is no token to compute");
  if (item.weights && item.first_weighted > item.timeline->n_attached())
    return error(Code::kInvalidArgument, "the timeline has fewer attachments");
  if (item.n_layers > desc_.n_layers || (item.n_layers != 0 && (item.logits || item.ranges)))
    return error(Code::kInvalidArgument,
                 "the states of " + std::to_string(item.n_layers) + " layers are asked for alone");
  if (item.row && (item.n_layers != 0 || item.row_kind > PC_ROW_HIDDEN))
    return error(Code::kInvalidArgument, "rows are asked for that no layer has");
  return ok();
}

Status Executor::check_positions(const pc_run& run) const {
  if (!run.positions) return ok();
  if (desc_.alibi_slopes)
    return error(Code::kUnsupported, "a run whose positions have gaps, of a model with ALiBi");
  const std::span positions(run.positions, run.n_tokens);
  const bool grow = std::ranges::is_sorted(positions, std::less_equal<>());
  if (!grow || run.planes || (!positions.empty() && positions[0] != run.position))
    return error(Code::kInvalidArgument, "the positions of a run do not grow from its first");
  return ok();
}

// All rows of a sweep go through the same layers.
bool Executor::fits_sweep(const Item& item) const {
  return parts_.empty() || parts_.back().item->n_layers == item.n_layers;
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
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].status.ok())
      items[i].timeline->rewind(tokens_before_[i], items[i].timeline->n_attached());
  }
}

// Takes the item's tokens, sweep by sweep; the last ones wait for the next item's.
void Executor::compute(Item& item) {
  if (!fits_sweep(item)) sweep();
  std::uint64_t left = 0;
  for (const pc_run& run : item.runs) left += run.n_tokens;
  const std::uint64_t n_tokens = left;
  for (const pc_run& run : item.runs) {
    for (std::uint32_t done = 0; done < run.n_tokens;) {
      if (rows_.size() == max_rows_) sweep();
      if (!item.status.ok()) return;
      const std::uint32_t n = std::min(run.n_tokens - done, max_rows_ - rows_.size());
      done += n;
      left -= n;
      take(item, run, done - n, n, left == 0, n_tokens - left - n);
    }
  }
}

// Tokens [first, first + n) of a run become rows of the sweep.
void Executor::take(Item& item, const pc_run& run, std::uint32_t first, std::uint32_t n, bool ends,
                    std::uint64_t begin) {
  const std::uint32_t row = rows_.size();
  try {
    item.timeline->append(run, first, n, &rows_.slots);
  } catch (const std::bad_alloc&) {
    rows_.slots.resize(row);
    item.status = error(Code::kOutOfMemory, "no memory for the states of " +
                                                std::to_string(run.n_tokens) + " more tokens");
    return;
  }
  for (std::uint32_t i = first; i < first + n; ++i) {
    const auto step =
        run.positions ? run.positions[i] - run.position : static_cast<std::int32_t>(i);
    rows_.tokens.push_back(run.tokens[i]);
    rows_.positions.push_back(run.position + step);
    rows_.key_positions.push_back(run.key_position + step);
  }
  if (!parts_.empty() && parts_.back().item == &item) {
    parts_.back().n += n;
    parts_.back().ends = ends;
  } else {
    parts_.push_back({&item, row, n, ends, begin});
  }
}

// All layers over the rows that were taken, and the logits of the items that end with them.
void Executor::sweep() {
  Status done = ok();
  try {
    done = compute_sweep();
  } catch (const std::bad_alloc&) {
    done = error(Code::kOutOfMemory, "no memory to compute a step");
  }
  for (const Part& part : parts_)
    if (!done.ok() && part.item->status.ok()) part.item->status = done;
  rows_.clear();
  parts_.clear();
}

// What each timeline's rows may see, those that were just taken included.
void Executor::gather_segments() {
  segments_.clear();
  segment_ends_.clear();
  for (const Part& part : parts_) {
    part.item->timeline->add_segments(&segments_);
    segment_ends_.push_back(segments_.size());
  }
  const std::span<const KvSegment> all(segments_);
  for (std::size_t i = 0, begin = 0; i < parts_.size(); begin = segment_ends_[i++]) {
    TimelineRows& rows = rows_.timelines.emplace_back();
    rows = {parts_[i].first, parts_[i].n, all.subspan(begin, segment_ends_[i] - begin)};
    const Item& item = *parts_[i].item;
    if (!item.weights) continue;
    const std::size_t n = item.timeline->n_attached() - item.first_weighted;
    rows.weighted = rows.segments.subspan(item.first_weighted, n);
    rows.weights = item.weights;
  }
}

// A layer adds to the stream, and NaN and infinity stay what they are under addition: one
// look at its end sees those of every layer, and costs a row no more than a norm does.
Status Executor::compute_sweep() {
  gather_segments();
  if (const std::uint32_t n_layers = parts_.front().item->n_layers; n_layers != 0)
    return transformer_.sweep_states(rows_, n_layers,
                                     [&](std::uint32_t n) { return watch(n, false); });
  PC_CHECK_OK(transformer_.sweep(rows_, [&](std::uint32_t n) { return watch(n, false); }));
  const bool finite = std::ranges::all_of(parts_, [&](const Part& part) {
    return !part.item->status.ok() || part.item->ranges || is_finite(part);
  });
  // Once more, to name the layer: keys and values are written anew.
  if (!finite) {
    for (TimelineRows& rows : rows_.timelines) rows.weights = nullptr;
    PC_CHECK_OK(transformer_.sweep(rows_, [&](std::uint32_t n) { return watch(n, true); }));
  }
  for (const Part& part : parts_)
    if (part.item->row && part.item->status.ok()) PC_CHECK_OK(read_rows(part));
  return read_logits();
}

// Between layers: who was cancelled, what the stream looks like. False when nobody is left.
bool Executor::watch(std::uint32_t n_layers_done, bool look_for_cause) {
  bool any = false;
  for (const Part& part : parts_) {
    Item& item = *part.item;
    if (!item.status.ok()) continue;
    if (n_layers_done < desc_.n_layers && is_set(item.cancel)) {
      item.status = cancelled();
    } else if (item.ranges && !look_for_cause) {
      join(transformer_.stream(part.first, part.n), item.ranges[n_layers_done]);
    } else if (!item.ranges && look_for_cause && !is_finite(part)) {
      item.status = not_finite(part, n_layers_done);
    }
    any |= item.status.ok();
  }
  return any;
}

bool Executor::is_finite(const Part& part) const {
  const std::span<const float> stream = transformer_.stream(part.first, part.n);
  return kernels_.all_finite(stream.data(), simd::Type::kF32, stream.size());
}

// Names where it began, and the first token that is concerned.
Error Executor::not_finite(const Part& part, std::uint32_t n_layers_done) const {
  std::uint32_t row = part.first;
  while (kernels_.all_finite(transformer_.stream(row, 1).data(), simd::Type::kF32, desc_.d_model))
    ++row;
  const std::string where = n_layers_done == 0 ? "the embedding"
                                               : "layer " + std::to_string(n_layers_done) + " of " +
                                                     std::to_string(desc_.n_layers);
  return error(Code::kNotFinite, "the model computed numbers that are not finite: they begin in " +
                                     where + ", for the token at position " +
                                     std::to_string(rows_.positions[row]));
}

// For the items whose last token was in this sweep.
Status Executor::read_logits() {
  last_rows_.clear();
  Item* only = nullptr;
  const auto wants = [](const Part& part) {
    return part.ends && part.item->logits && part.item->status.ok();
  };
  for (const Part& part : parts_) {
    if (!wants(part)) continue;
    only = part.item;
    last_rows_.push_back(part.first + part.n - 1);
  }
  if (last_rows_.empty()) return ok();
  if (last_rows_.size() == 1) {
    PC_CHECK_OK(transformer_.read_logits(last_rows_, only->logits));
    finish_logits(*only, only->logits);
    return ok();
  }
  const float* logits = logits_room(last_rows_.size());
  PC_CHECK_OK(transformer_.read_logits(last_rows_, logits_.data()));
  for (const Part& part : parts_) {
    if (!wants(part)) continue;
    std::copy_n(logits, desc_.vocab_size, part.item->logits);
    finish_logits(*part.item, part.item->logits);
    logits += desc_.vocab_size;
  }
  return ok();
}

float* Executor::logits_room(std::size_t n_rows) {
  const std::size_t room =
      (n_rows + kGemmRowGranule - 1) / kGemmRowGranule * kGemmRowGranule * desc_.vocab_size;
  if (logits_.size() < room) logits_ = AlignedBuffer<float>(room);
  return logits_.data();
}

// Hands out what is wanted of a part's tokens.
Status Executor::read_rows(const Part& part) {
  Item& item = *part.item;
  const std::uint64_t begin = std::max(part.begin, item.first_row);
  for (std::uint64_t token = begin; token < part.begin + part.n;) {
    if (is_set(item.cancel)) return item.status = cancelled(), ok();
    last_rows_.clear();
    const std::uint64_t n =
        std::min<std::uint64_t>({kRowsAtOnce, max_rows_, part.begin + part.n - token});
    for (std::uint64_t i = 0; i < n; ++i)
      last_rows_.push_back(part.first + static_cast<std::uint32_t>(token - part.begin + i));
    if (item.row_kind == PC_ROW_HIDDEN) {
      const float* hidden = transformer_.read_hidden(last_rows_);
      for (; last_rows_.size() != 0; last_rows_.pop_back(), hidden += desc_.d_model)
        item.row(item.row_user, token++, hidden);
      continue;
    }
    float* logits = logits_room(n);
    PC_CHECK_OK(transformer_.read_logits(last_rows_, logits));
    for (std::uint64_t i = 0; i < n; ++i, logits += desc_.vocab_size) {
      if (!finish_logits(item, logits)) return ok();
      item.row(item.row_user, token++, logits);
    }
  }
  return ok();
}

// Who gets the logits looks at them; but a cap makes infinity a number like others.
bool Executor::finish_logits(Item& item, float* logits) const {
  if (!item.ranges && desc_.logit_softcap != 0.0f &&
      !kernels_.all_finite(logits, simd::Type::kF32, desc_.vocab_size)) {
    item.status = error(Code::kNotFinite,
                        "the model computed logits that are not finite, before they are capped");
    return false;
  }
  transformer_.cap_logits(logits);
  return true;
}

}  // namespace pc
