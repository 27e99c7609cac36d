// A device that computes nothing but who came by: it checks that a Stepper keeps to
// runtime/step/step_device.h, and what it hands out says which token of which timeline it is of.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <new>
#include <set>
#include <span>
#include <vector>

#include "base/status.h"
#include "runtime/step/admission.h"
#include "runtime/step/step_device.h"

struct pc_backend_timeline {
  struct Token {
    std::int32_t id, position, key_position;
    int n_computed;  // by first passes of sweeps
  };
  std::int32_t id;      // its logits' first number
  std::int32_t module;  // that it has attached
  std::vector<Token> tokens;
};

namespace pc::test {

class FakeDevice final : public StepDevice {
 public:
  static constexpr std::uint32_t kLayers = 4, kVocab = 64, kWidth = 2;
  // Token kBroken + n makes numbers that are not finite behind layer n, from the embedding (0) on.
  static constexpr std::int32_t kBroken = 50;
  static constexpr std::int32_t kBrokenLogits = 60;  // its logits alone are not finite
  static StepLimits limits(bool caps_logits) {
    return {kLayers, kWidth, kVocab, std::nullopt, false, caps_logits};
  }

  // What is to happen.
  enum class Fault { kLost, kNoMemory, kThrows };
  Fault fault = Fault::kLost;
  long fail_at = 0;                  // the so manieth call that may fail does; 0: none
  int n_rooms = 0;                   // so often room can be made
  std::size_t max_modules = kVocab;  // in one sweep
  std::function<void(int, std::uint32_t)> at_layer;  // of which sweep, how many are done

  // What has happened.
  const char* wrong = nullptr;  // the first rule that was not kept
  long n_calls = 0;
  std::vector<std::uint32_t> sweeps;  // [those that were computed] rows
  int n_passes = 0;

  TimelineLength length(const pc_step_item& item) const override {
    return {static_cast<std::uint32_t>(item.timeline->tokens.size()), 1};
  }
  void rewind(const pc_step_item& item, std::uint32_t n_tokens) noexcept override {
    expect(rows_.empty(), "no timeline is rewound under a sweep");
    auto& tokens = item.timeline->tokens;
    tokens.erase(tokens.begin() + std::min<std::ptrdiff_t>(n_tokens, std::ssize(tokens)),
                 tokens.end());
  }

  Result<bool> join(pc_step_item& item, bool alone) override {
    PC_CHECK_OK(call());
    expect(!sweep_, "items join before the sweep begins");
    expect(alone == rows_.empty(), "an item is alone where nobody has rows");
    if (!alone && modules_.size() == max_modules && !modules_.contains(item.timeline->module))
      return false;
    modules_.insert(item.timeline->module);
    return true;
  }
  Status append(pc_step_item& item, const pc_run& run, std::uint32_t first,
                std::uint32_t n) override {
    PC_CHECK_OK(call());
    expect(!sweep_, "rows are appended before the sweep begins");
    expect(modules_.contains(item.timeline->module), "an item joins before it has rows");
    auto& tokens = item.timeline->tokens;
    rows_.reserve(rows_.size() + n);
    tokens.reserve(tokens.size() + n);
    for (std::uint32_t i = first; i < first + n; ++i) {
      const auto at = static_cast<std::int32_t>(i);
      const std::int32_t step = run.positions ? run.positions[i] - run.position : at;
      rows_.push_back({item.timeline, tokens.size()});
      tokens.push_back({run.tokens[i], run.position + step, run.key_position + step, 0});
    }
    return ok();
  }

  Status begin_sweep(const Sweep& sweep, const ReadSizes& sizes) override {
    PC_CHECK_OK(call());
    sweep_ = &sweep;
    sizes_ = sizes;
    pass_ = 0;
    sweeps.reserve(sweeps.size() + 1);
    expect(sweep.n_rows() == rows_.size() && !rows_.empty(), "a sweep has what was appended");
    std::uint32_t row = 0;
    for (const SweepPart& part : sweep.parts) {
      expect(part.first == row && part.n != 0, "parts leave no row out");
      expect(part.item->n_layers == sweep.n_layers(), "a sweep's items have the same layers");
      expect(part.ends == (part.begin + part.n == count_tokens(*part.item)),
             "a part ends an item where it has its last token");
      for (std::uint32_t end = part.first + part.n; row < end; ++row) {
        const auto& token = token_of(row);
        expect(rows_[row].timeline == part.item->timeline && token.id == sweep.tokens[row] &&
                   token.position == sweep.positions[row] &&
                   token.key_position == sweep.key_positions[row],
               "rows are what was appended");
      }
    }
    expect(row == rows_.size(), "parts leave no row out at the end");
    return ok();
  }
  Status compute(Proceed proceed) override {
    PC_CHECK_OK(call());
    ++pass_;
    ++n_passes;
    finished_ = false;
    const std::uint32_t last = sweep_->n_layers() == 0 ? kLayers : sweep_->n_layers() - 1;
    for (layer_ = 0;; ++layer_) {
      looked_ = false;
      if (at_layer) at_layer(static_cast<int>(sweeps.size()), layer_);
      PC_TRY(const bool goes_on, proceed(layer_));
      if (!goes_on || layer_ == last) return ok();
    }
  }
  Status look() override {
    PC_CHECK_OK(call());
    expect(sweep_->n_layers() == 0, "there is no stream of a few layers");
    looked_ = true;
    return ok();
  }
  bool is_finite(std::uint32_t first_row, std::uint32_t n) const override {
    expect(looked_, "who asks of the stream has had it looked at");
    for (std::uint32_t row = first_row; row < first_row + n; ++row)
      if (is_broken(row)) return false;
    return true;
  }
  // Counts rows, where others look for the largest number.
  void join_range(std::uint32_t first_row, std::uint32_t n, pc_layer_range* range) const override {
    expect(looked_, "who measures the stream has had it looked at");
    range->largest += static_cast<float>(n);
    for (std::uint32_t row = first_row; row < first_row + n; ++row)
      range->n_not_finite += is_broken(row);
  }
  Status finish_pass() override {
    PC_CHECK_OK(call());
    finished_ = true;
    if (pass_ != 1) return ok();
    sweeps.push_back(sweep_->n_rows());
    for (const Row& row : rows_) ++row.timeline->tokens[row.token].n_computed;
    for (const SweepPart& part : sweep_->parts)
      if (part.item->weights) *part.item->weights += part.n;
    return ok();
  }

  Result<const float*> read_hidden(std::span<const std::uint32_t> rows) override {
    PC_CHECK_OK(call());
    expect(finished_ && rows.size() <= sizes_.hidden, "as many rows are read as was said");
    read(rows, kWidth);
    return values_.data();
  }
  Result<const float*> read_logits(std::span<const std::uint32_t> rows,
                                   std::span<bool> finite) override {
    PC_CHECK_OK(call());
    expect(finished_ && rows.size() <= sizes_.logits, "as many logits are read as was said");
    read(rows, kVocab);
    judge(rows, finite);
    return values_.data();
  }
  Status copy_logits(std::span<const std::uint32_t> rows, std::span<float* const> to,
                     std::span<bool> finite) override {
    PC_CHECK_OK(call());
    expect(finished_ && rows.size() <= sizes_.copied_logits && to.size() == rows.size(),
           "as many logits are copied as was said");
    read(rows, kVocab);
    for (std::size_t i = 0; i < to.size(); ++i)
      std::copy_n(values_.data() + i * kVocab, kVocab, to[i]);
    judge(rows, finite);
    return ok();
  }

  bool make_room() noexcept override { return n_rooms > 0 && n_rooms-- != 0; }
  void end_sweep(bool) noexcept override {
    rows_.clear();
    modules_.clear();
    sweep_ = nullptr;
  }
  Status finish(const pc_step_item& item, std::uint32_t first_token) override {
    PC_CHECK_OK(call());
    expect(rows_.empty(), "an item is finished behind its last sweep");
    expect(item.timeline->tokens.size() == first_token + count_tokens(item),
           "an item that is finished has all its tokens");
    return ok();
  }

 private:
  struct Row {
    pc_backend_timeline* timeline;
    std::size_t token;
  };
  const pc_backend_timeline::Token& token_of(std::uint32_t row) const {
    return rows_[row].timeline->tokens[rows_[row].token];
  }
  bool is_broken(std::uint32_t row) const {
    const std::int32_t id = token_of(row).id;
    return id >= kBroken && id < kBrokenLogits && id - kBroken <= static_cast<int>(layer_);
  }
  void expect(bool kept, const char* rule) const {
    if (!kept && !wrong) const_cast<FakeDevice*>(this)->wrong = rule;
  }
  Status call() {
    if (++n_calls != fail_at) return ok();
    if (fault == Fault::kThrows) throw std::bad_alloc();
    if (fault == Fault::kNoMemory) return error(Code::kOutOfMemory, "no room");
    return error(Code::kIo, "lost");
  }
  void read(std::span<const std::uint32_t> rows, std::size_t width) {
    values_.assign(rows.size() * width, 0.0f);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      values_[i * width] = static_cast<float>(rows_[rows[i]].timeline->id);
      values_[i * width + 1] = static_cast<float>(rows_[rows[i]].token);
    }
  }
  void judge(std::span<const std::uint32_t> rows, std::span<bool> finite) const {
    expect(finite.empty() || finite.size() == rows.size(), "there is a flag for each row, or none");
    for (std::size_t i = 0; i < finite.size(); ++i)
      finite[i] = token_of(rows[i]).id != kBrokenLogits;
  }

  std::vector<Row> rows_;  // of the sweep at hand
  std::set<std::int32_t> modules_;
  const Sweep* sweep_ = nullptr;
  ReadSizes sizes_;
  std::uint32_t layer_ = 0;
  int pass_ = 0;
  bool looked_ = false, finished_ = false;
  std::vector<float> values_;
};

}  // namespace pc::test
