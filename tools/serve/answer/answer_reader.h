// Makes events of one answer's text while it is drawn: what of it is thought, what is said, and
// what is a call of a tool.
//
// Borrows what it reads by. Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/calls/reading/call_stream.h"
#include "tools/serve/answer/event.h"
#include "tools/serve/answer/thought_stream.h"

namespace pc::serve {

using calls::CallPiece;
using calls::CallReading;
using calls::CallShape;
using calls::CallStream;
using calls::ToolTypes;

// How the answers to a question are read.
struct AnswerForm {
  std::optional<ThoughtShape> thoughts = {};
  bool is_thinking = false;  // the prompt has opened the thought
  std::optional<CallShape> calls = {};
  ToolTypes types = {};
  bool must_call = false;
  bool reads_loose_calls = true;  // JSON that names a tool is a call
};

class AnswerReader {
 public:
  AnswerReader(std::uint32_t choice, const AnswerForm& form)
      : choice_(choice), thoughts_(form.thoughts, form.is_thinking) {
    if (form.calls)
      calls_.emplace(*form.calls, form.types, CallReading{form.must_call, form.reads_loose_calls});
  }

  void push(std::string_view text, std::vector<DrawnToken> tokens, EventSink* sink);
  // The answer is over.
  void finish(pc_finish how, std::string stop, Finish::Counts counts, EventSink* sink);

  bool is_thinking() const { return thoughts_.is_thinking(); }
  // Is there a call, and none that is not over?
  bool has_whole_call() const {
    return calls_ && calls_->n_calls() > 0 && !calls_->is_within_call();
  }

 private:
  void pass_on(const ThoughtPiece& piece, bool is_over, EventSink* sink);
  void pass_on(std::vector<CallPiece> pieces, EventSink* sink);
  std::vector<DrawnToken> take_tokens() { return std::exchange(tokens_, {}); }

  const std::uint32_t choice_;
  ThoughtStream thoughts_;
  std::optional<CallStream> calls_;
  std::vector<DrawnToken> tokens_;  // which no event has told yet
  std::uint32_t n_calls_ = 0;       // of which events have told
};

}  // namespace pc::serve
