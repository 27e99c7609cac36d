// Takes the calls of tools out of answers on their way to a protocol's sink.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tools/serve/answer/answer_sink.h"
#include "tools/serve/calls/call_reader.h"
#include "tools/serve/request/names.h"

namespace pc::serve {

// Owns the sink, borrows the shape.
class CallSink : public AnswerSink {
 public:
  CallSink(std::unique_ptr<AnswerSink> sink, const CallShape& shape, const Json& tools,
           std::uint32_t n_choices)
      : sink_(std::move(sink)), types_(tools) {
    for (std::uint32_t i = 0; i < n_choices; ++i) readers_.emplace_back(shape, types_);
  }

  void begin(const Usage& usage) override { sink_->begin(usage); }
  void piece(const Piece& piece) override {
    Piece certain = piece;
    certain.text = readers_[piece.choice].push(piece.text);
    if (!certain.text.empty() || !certain.tokens.empty()) sink_->piece(certain);
  }
  void finish(std::uint32_t choice, const Finish& finish) override {
    ReadAnswer rest = readers_[choice].finish();
    if (!rest.text.empty()) sink_->piece({choice, std::move(rest.text), {}});
    Finish called = finish;
    for (ToolCall& call : rest.calls) called.calls.push_back({new_call_name(), std::move(call)});
    sink_->finish(choice, called);
  }
  void end(const Usage& usage) override { sink_->end(usage); }
  void fail(const ApiError& error) override { sink_->fail(error); }
  bool is_wanted() const override { return sink_->is_wanted(); }

 private:
  const std::unique_ptr<AnswerSink> sink_;
  const ToolTypes types_;
  std::vector<CallReader> readers_;
};

}  // namespace pc::serve
