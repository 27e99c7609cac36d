#include "runtime/engine/whole_texts.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/scheduler/log.h"
#include "runtime/scheduler/task.h"

namespace pc {
namespace {

// Sums the states of the tokens that it is given.
class StateSum final : public RowSink {
 public:
  explicit StateSum(std::uint32_t d_model) : sum_(d_model) {}

  void take(std::uint64_t, const float* state) noexcept override {
    for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] += state[i];
  }
  std::span<const double> sum() const { return sum_; }

 private:
  std::vector<double> sum_;  // [d_model]
};

// What is wanted of each text, and where it goes.
struct Readout {
  Pooling pooling = Pooling::kUnsaid;    // kUnsaid: logits
  std::uint32_t n_dims = 0;              // of a vector
  std::span<const TokenId> wanted = {};  // of the logits
  float* out = nullptr;                  // [texts, width()]

  bool pools() const { return pooling != Pooling::kUnsaid; }
  std::size_t width() const { return pools() ? n_dims : wanted.size(); }
};

// A text that is computed, behind what all have in common.
struct Reading {
  std::size_t text;  // its number
  pc_run run;
  BackendTimeline timeline;
  std::optional<StateSum> states;
  std::vector<float> logits;  // [vocab_size], or none
  std::optional<Task> task = {};
};

// The mean's length does not matter, as every vector is made one of length 1.
Status write_vector(std::span<const double> sum, std::size_t text, std::span<float> out) {
  double squares = 0;
  for (const double x : sum.first(out.size())) squares += x * x;
  if (!std::isfinite(squares) || squares == 0)
    return error(Code::kNotFinite, "the model's vector of text " + std::to_string(text) +
                                       " has no length: it is zero, or not finite");
  const double scale = 1 / std::sqrt(squares);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(sum[i] * scale);
  return ok();
}

class WholeTextReader {
 public:
  WholeTextReader(const Engine& engine, const WholeTexts& asked, const Readout& readout)
      : engine_(engine), asked_(asked), readout_(readout), n_shared_(shared()) {
    for (const Tokens& text : asked.texts) n_tokens_ += text.size() - n_shared_;
    n_tokens_ += n_shared_;
  }

  Status read() {
    if (n_shared_ != 0) PC_CHECK_OK(compute_beginning());
    for (std::size_t first = 0; first < asked_.texts.size();) {
      const std::size_t end = group_end(first);
      PC_CHECK_OK(compute_group(first, end));
      first = end;
    }
    return ok();
  }

 private:
  // Tokens that all texts begin with; each keeps one of its own.
  std::size_t shared() const {
    constexpr std::size_t kWorthAFork = kKvBlockTokens;  // fewer are computed as fast as forked
    if (asked_.texts.size() < 2) return 0;
    const Tokens& one = asked_.texts.front();
    std::size_t n = one.size() - 1;
    for (const Tokens& text : asked_.texts) {
      n = std::min(n, text.size() - 1);
      const auto parted =
          std::mismatch(one.begin(), one.begin() + static_cast<long>(n), text.begin());
      n = static_cast<std::size_t>(parted.first - one.begin());
    }
    return n < kWorthAFork ? 0 : n;
  }

  // Texts from `first` on that fill a step: more at once are no faster, and their states take
  // memory.
  std::size_t group_end(std::size_t first) const {
    std::size_t n_tokens = 0, end = first;
    while (end < asked_.texts.size() && n_tokens < engine_.scheduler().step_tokens())
      n_tokens += asked_.texts[end++].size() - n_shared_;
    return end;
  }

  Status compute_beginning() {
    PC_TRY(Reading reading, begin(0, 0, n_shared_, false));
    PC_CHECK_OK(compute({&reading, 1}));
    reading.task.reset();  // it borrows what moves
    beginning_.emplace(std::move(reading));
    return ok();
  }

  Status compute_group(std::size_t first, std::size_t end) {
    std::vector<Reading> group;
    group.reserve(end - first);
    for (std::size_t i = first; i < end; ++i) {
      PC_TRY(Reading reading, begin(i, n_shared_, asked_.texts[i].size() - n_shared_, true));
      group.push_back(std::move(reading));
    }
    PC_CHECK_OK(compute(group));
    for (const Reading& reading : group) PC_CHECK_OK(write(reading));
    return ok();
  }

  // n tokens of a text from `from` on; `ends`: they are its last.
  Result<Reading> begin(std::size_t text, std::size_t from, std::size_t n, bool ends) const {
    auto timeline = beginning_ ? beginning_->timeline.fork() : engine_.backend().timeline();
    if (!timeline.ok()) return timeline.error();
    const auto position = static_cast<std::int32_t>(from);
    Reading reading{.text = text,
                    .run = {asked_.texts[text].data() + from, static_cast<std::uint32_t>(n),
                            position, position, 1, nullptr, nullptr, 0, nullptr},
                    .timeline = std::move(timeline).value(),
                    .states = {},
                    .logits = {}};
    const pc_model_desc& desc = engine_.model().desc;
    if (readout_.pooling == Pooling::kMean && beginning_) {
      reading.states = beginning_->states;
    } else if (readout_.pools()) {
      reading.states.emplace(desc.d_model);
    } else if (ends) {
      reading.logits.resize(desc.vocab_size);
    }
    return reading;
  }

  Work work_of(Reading& reading) const {
    Work work{.timeline = &reading.timeline, .runs = {&reading.run, 1}};
    if (!reading.logits.empty()) work.logits = reading.logits.data();
    if (reading.states) {
      work.rows = &*reading.states;
      work.row_kind = PC_ROW_HIDDEN;
      if (readout_.pooling == Pooling::kLast) work.first_row = reading.run.n_tokens - 1;
    }
    return work;
  }

  Status compute(std::span<Reading> readings) {
    std::vector<Task*> open;
    for (Reading& reading : readings) open.push_back(&reading.task.emplace(work_of(reading)));
    std::uint64_t n_before = n_done_;
    while (!open.empty()) {
      PC_CHECK_OK(engine_.scheduler().advance(open));
      n_done_ = n_before;
      for (const Reading& reading : readings) n_done_ += reading.task->n_done();
      for (const Task* task : open)
        if (task->finished()) PC_CHECK_OK(task->result());
      std::erase_if(open, [](const Task* task) { return task->finished(); });
      if (asked_.progress && !asked_.progress(n_done_, n_tokens_))
        return error(Code::kCancelled, "cancelled");
    }
    return ok();
  }

  Status write(const Reading& reading) const {
    const std::span<float> out(readout_.out + reading.text * readout_.width(), readout_.width());
    if (readout_.pools()) return write_vector(reading.states->sum(), reading.text, out);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = reading.logits[static_cast<std::size_t>(readout_.wanted[i])];
    return ok();
  }

  const Engine& engine_;
  const WholeTexts& asked_;
  const Readout& readout_;
  const std::size_t n_shared_;
  std::optional<Reading> beginning_;
  std::uint64_t n_done_ = 0, n_tokens_ = 0;  // computed, of so many
};

Status check_texts(const Engine& engine, std::span<const Tokens> texts) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string name = "text " + std::to_string(i);
    if (texts[i].empty()) return error(Code::kInvalidArgument, name + " has no token");
    if (texts[i].size() > engine.context_tokens())
      return error(Code::kContextFull, name + " has " + std::to_string(texts[i].size()) +
                                           " tokens, and the context window " +
                                           std::to_string(engine.context_tokens()));
    for (const TokenId token : texts[i])
      if (token < 0 || static_cast<std::uint32_t>(token) >= engine.model().desc.vocab_size)
        return error(Code::kInvalidArgument, "token " + std::to_string(token) + " of " + name +
                                                 " is outside the model's vocabulary");
  }
  return ok();
}

// On the engine, or on its CPU where its plug-in cannot.
Status read(const Engine& engine, const WholeTexts& texts, const Readout& readout) {
  PC_CHECK_OK(engine.check_weights());
  PC_CHECK_OK(check_texts(engine, texts.texts));
  if (texts.texts.empty()) return ok();
  const Status done = WholeTextReader(engine, texts, readout).read();
  if (done.ok() || !engine.is_on_plug_in() || engine.options().require_backend) return done;
  const Code code = done.error().code;
  if (code != Code::kUnsupported && code != Code::kOutOfMemory) return done;
  log(LogLevel::kWarning, std::string("the CPU reads texts in the place of ") +
                              engine.backend().name() + ": " + done.error().message);
  PC_TRY(const auto cpu, engine.on_cpu(nullptr));
  return WholeTextReader(*cpu, texts, readout).read();
}

}  // namespace

Result<Pooling> choose_pooling(const Model& model, Pooling asked) {
  if (asked != Pooling::kUnsaid) return asked;
  if (!model.pooling.unsupported.empty())
    return error(Code::kUnsupported, model.path + ": " + model.pooling.unsupported);
  return model.pooling.pooling == Pooling::kUnsaid ? Pooling::kLast : model.pooling.pooling;
}

Status embed(const Engine& engine, const WholeTexts& texts, Pooling asked, std::uint32_t n_dims,
             float* vectors) {
  const std::uint32_t d_model = engine.model().desc.d_model;
  if (n_dims == 0 || n_dims > d_model)
    return error(Code::kInvalidArgument,
                 std::to_string(n_dims) +
                     " dimensions were asked for, and the model's vectors have " +
                     std::to_string(d_model));
  PC_TRY(const Pooling pooling, choose_pooling(engine.model(), asked));
  return read(engine, texts, {.pooling = pooling, .n_dims = n_dims, .out = vectors});
}

Status score(const Engine& engine, const WholeTexts& texts, std::span<const TokenId> wanted,
             float* logits) {
  for (const TokenId token : wanted)
    if (token < 0 || static_cast<std::uint32_t>(token) >= engine.model().desc.vocab_size)
      return error(Code::kInvalidArgument,
                   "token " + std::to_string(token) + " is outside the model's vocabulary");
  return read(engine, texts, {.wanted = wanted, .out = logits});
}

}  // namespace pc
