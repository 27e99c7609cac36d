// Takes the calls of tools out of an answer, while it grows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/serve/calls/call_shape.h"
#include "tools/serve/calls/tool_call.h"
#include "tools/serve/calls/tool_types.h"

namespace pc::serve {

// What an answer comes to, or a part of it: text, then calls.
struct ReadAnswer {
  std::string text;
  std::vector<ToolCall> calls;

  friend bool operator==(const ReadAnswer&, const ReadAnswer&) = default;
};

// Borrows both. Threads: one at a time.
class CallReader {
 public:
  CallReader(const CallShape& shape, const ToolTypes& types) : shape_(shape), types_(types) {}

  // Gives what has become certain to be no call. White space before a call is part of it.
  std::string push(std::string_view text);

  // The answer is over: what comes behind that. What begins like a call and is none is text, and so
  // is what stands behind calls: nothing is lost.
  ReadAnswer finish();

 private:
  std::size_t call_at() const;
  std::size_t word_at() const;

  const CallShape& shape_;
  const ToolTypes& types_;
  std::string held_;    // perhaps the beginning of a call and white space before, or all from there
  bool begun_ = false;  // something else than white space has come
  bool in_calls_ = false;
};

// A whole answer.
ReadAnswer read_answer(const CallShape& shape, const ToolTypes& types, std::string_view text);

}  // namespace pc::serve
