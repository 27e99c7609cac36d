// Where an answer goes while it is made: each protocol has its own, which writes to a Reply.
#pragma once

#include <promptcache/promptcache.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tools/serve/calls/tool_call.h"
#include "tools/serve/request/api_error.h"
#include "tools/serve/request/question.h"

namespace pc::serve {

struct TokenChance {
  std::string bytes;  // what the token stands for; perhaps part of a character
  float logprob = 0;
};

struct DrawnToken {
  TokenChance token;
  std::vector<TokenChance> top;  // the likeliest first
};

// What came of one answer since the last piece of it.
struct Piece {
  std::uint32_t choice = 0;        // of Question::n
  std::string text;                // whole characters
  std::vector<DrawnToken> tokens;  // where logprobs are wanted
};

// A call of a tool, with the name by which its result will speak of it.
struct MadeCall {
  std::string id;
  ToolCall call;
};

// What a prompt was made of.
struct Reuse {
  Mode mode = Mode::kPrefix;         // that it came to
  Json parts = Json::array();        // what became of each module (planner.h)
  std::vector<std::string> remarks;  // why not more was reused
};

// What answering took. Times in microseconds.
struct Usage {
  Reuse reuse;
  std::uint64_t prompt_tokens = 0, cached_tokens = 0, chained_tokens = 0;
  std::uint64_t approximate_tokens = 0;  // of modules that saw something else than stands before
  std::uint64_t repaired_tokens = 0;     // of these: computed anew
  std::uint32_t modules = 0, modules_encoded = 0;  // that it used; of these, not found before
  std::uint64_t written_tokens = 0;    // of the conversation, that the store has only since
  std::uint64_t generated_tokens = 0;  // of all answers
  std::uint64_t prompt_us = 0, first_token_us = 0, decode_us = 0;
};

struct Finish {
  pc_finish how = PC_FINISH_NONE;
  std::string stop;             // the string that ended it, with PC_FINISH_STOP
  std::vector<MadeCall> calls;  // of tools, in order
};

// Threads: one at a time, but is_wanted() from any.
class AnswerSink {
 public:
  virtual ~AnswerSink() = default;

  virtual void begin(const Usage& usage) = 0;  // the prompt is computed
  virtual void piece(const Piece& piece) = 0;
  virtual void finish(std::uint32_t choice, const Finish& finish) = 0;
  virtual void end(const Usage& usage) = 0;      // all answers are over
  virtual void fail(const ApiError& error) = 0;  // in the place of what has not come yet
  virtual bool is_wanted() const = 0;            // false: nobody reads it any more
};

}  // namespace pc::serve
