// Makes events of one answer's text while it is drawn: what of it is thought, what is said, and
// what is a call of a tool.
//
// Borrows what it reads by. Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <promptcache/promptcache.hpp>
#include <string>
#include <vector>

#include "tools/serve/answer/channel_stream.h"
#include "tools/serve/answer/event.h"
#include "tools/serve/answer/thought_stream.h"

namespace pc::serve {

// How the answers to a question are read.
struct AnswerForm {
  std::optional<ThoughtShape> thoughts = {};
  bool is_thinking = false;                              // the prompt has opened the thought
  std::shared_ptr<const promptcache::Tools> tools = {};  // whose calls are read; none: all is text
  std::uint32_t reading = 0;                             // of pc_call_reading
};

class AnswerReader {
 public:
  AnswerReader(std::uint32_t choice, const AnswerForm& form)
      : choice_(choice), thoughts_(form.thoughts, form.is_thinking) {
    if (form.thoughts && is_in_channels(*form.thoughts))
      channels_.emplace(form.tools != nullptr);
    else if (form.tools)
      calls_.emplace(*form.tools, form.reading);
  }

  void push(std::string_view text, std::vector<DrawnToken> tokens, EventSink* sink);
  // The answer is over.
  void finish(pc_finish how, std::string stop, Finish::Counts counts, EventSink* sink);

  bool is_thinking() const {
    return channels_ ? channels_->is_thinking() : thoughts_.is_thinking();
  }
  // Is there a call, and none that is not over?
  bool has_whole_call() const { return n_calls_ > 0 && !is_within_call_; }

 private:
  void pass_on(const ThoughtPiece& piece, bool is_over, EventSink* sink);
  void pass_on(const std::vector<pc_answer_piece>& pieces, EventSink* sink);
  void pass_on(const std::vector<ChannelPiece>& pieces, EventSink* sink);
  void begin_call(std::string name, EventSink* sink);
  std::vector<DrawnToken> take_tokens() { return std::exchange(tokens_, {}); }

  const std::uint32_t choice_;
  std::optional<ChannelStream> channels_;  // instead of the two below
  ThoughtStream thoughts_;
  std::optional<promptcache::CallReader> calls_;
  std::vector<DrawnToken> tokens_;  // which no event has told yet
  std::uint32_t n_calls_ = 0;       // of which events have told
  bool is_within_call_ = false;     // the latest of them is not over
};

}  // namespace pc::serve
