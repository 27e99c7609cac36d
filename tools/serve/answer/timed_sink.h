// An answer that must be there by a time: after that it is not made any more, and its client is
// told.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "tools/serve/answer/answer_sink.h"

namespace pc::serve {

// Owner of the sink.
class TimedSink : public AnswerSink {
 public:
  using Clock = std::chrono::steady_clock;

  TimedSink(std::unique_ptr<AnswerSink> sink, Clock::time_point end)
      : sink_(std::move(sink)), end_(end) {}

  void begin(const Usage& usage) override { sink_->begin(usage); }
  void piece(const Piece& piece) override { sink_->piece(piece); }
  void finish(std::uint32_t choice, const Finish& finish) override {
    sink_->finish(choice, finish);
  }
  void end(const Usage& usage) override {
    is_over_ = true;
    sink_->end(usage);
  }
  void fail(const ApiError& error) override {
    is_over_ = true;
    sink_->fail(error);
  }
  bool is_wanted() const override { return sink_->is_wanted() && !is_late(); }

  bool is_late() const { return Clock::now() >= end_; }
  // To be called when nobody works at it any more: tells the client where it was late.
  void tell_if_late() {
    if (!is_over_ && is_late())
      fail({504, "timeout_error", "the answer took longer than this server gives it", "",
            "deadline_exceeded"});
  }

 private:
  const std::unique_ptr<AnswerSink> sink_;
  const Clock::time_point end_;
  bool is_over_ = false;
};

}  // namespace pc::serve
