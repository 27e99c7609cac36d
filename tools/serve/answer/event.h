// An answer as a sequence of events, from the request's acceptance to its end; docs/adr/0033.
//
//   Accepted (Progress)* Begun (Said | Thought | CallBegun | CallSaid | ChoiceEnded)* Ended
//
// Failed may take the place of whatever has not come yet, and is then the last. Values.
#pragma once

#include <promptcache/promptcache.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tools/serve/request/api_error.h"
#include "tools/serve/request/question.h"

namespace pc::serve {

struct TokenChance {
  std::string bytes;  // what the token stands for; perhaps part of a character
  float logprob = 0;
  std::int32_t id = -1;
};

// Of an answer or, where it is echoed, of its prompt.
struct DrawnToken {
  TokenChance token;
  std::vector<TokenChance> top = {};  // the likeliest first
  bool has_chance = true;             // not the first of a prompt, behind nothing
  bool is_apart = false;  // its bytes are not in the text: a control token that was drawn, or BOS
};

// How a prompt was put together.
struct Reuse {
  Mode mode = Mode::kPrefix;         // which was used in the end
  Json parts = Json::array();        // what became of each module (planner.h)
  std::vector<std::string> remarks;  // why not more was reused
  std::size_t n_dropped = 0;         // messages of the conversation that went
};

// What answering took. Times in microseconds.
struct Usage {
  Reuse reuse;
  std::uint64_t prompt_tokens = 0, cached_tokens = 0, chained_tokens = 0;
  std::uint64_t approximate_tokens = 0;  // of modules that saw something else than stands before
  std::uint64_t repaired_tokens = 0;     // of these: computed anew
  std::uint64_t moved_tokens = 0;        // of chained_tokens: approximate, too
  std::uint32_t modules = 0, modules_encoded = 0;  // that it used; of these, not found before
  std::uint64_t written_tokens = 0;  // of the conversation: their states were stored by this answer
  std::uint64_t generated_tokens = 0;                  // of all answers
  std::uint64_t thought_tokens = 0;                    // of these: thoughts
  std::uint64_t drafted_tokens = 0, right_drafts = 0;  // as pc_session_stats has them, of all
  std::uint64_t prompt_us = 0, first_token_us = 0, decode_us = 0;
};

struct Finish {
  pc_finish how = PC_FINISH_NONE;
  std::string stop;           // the string that ended it, with PC_FINISH_STOP
  std::uint32_t n_calls = 0;  // of tools, that it has
  bool cuts_call = false;     // the last of these is not whole
  struct Counts {
    std::uint64_t prompt = 0, cached = 0, drawn = 0;
  } counts = {};  // of tokens
};

// The prompt is one of this model's and fits its window; computing it may take long.
struct Accepted {};

// How much of the prompt is there. Tokens.
struct Progress {
  std::uint64_t n_done = 0, n_tokens = 0;
};

// The prompt is computed; Usage has what is known so far.
struct Begun {
  Usage usage;
};

// Of an answer, whole characters of it. Of Question::n_choices() answers, `choice` is the number.
struct Said {
  std::uint32_t choice = 0;
  std::string text;
  std::vector<DrawnToken> tokens;  // where logprobs are wanted; perhaps of text that comes later
};

// What the model thinks before it answers.
struct Thought {
  std::uint32_t choice = 0;
  std::string text;
  std::vector<DrawnToken> tokens;
};

// A call of a tool, with the name by which its result will speak of it. Calls of an answer have
// numbers from 0 on, and come one behind the other.
struct CallBegun {
  std::uint32_t choice = 0, number = 0;
  std::string id, name;
};

// The next piece of its arguments, which together are a JSON object, or the beginning of one.
struct CallSaid {
  std::uint32_t choice = 0, number = 0;
  std::string arguments;
};

struct ChoiceEnded {
  std::uint32_t choice = 0;
  Finish finish;
};

// All answers are over.
struct Ended {
  Usage usage;
};

struct Failed {
  ApiError error;
};

using Event = std::variant<Accepted, Progress, Begun, Said, Thought, CallBegun, CallSaid,
                           ChoiceEnded, Ended, Failed>;

// For std::visit: a function for each event that means something, and one of auto for the rest.
template <class... Functions>
struct Of : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Of(Functions...) -> Of<Functions...>;

// Where events go. Threads: one at a time, but is_wanted() from any.
class EventSink {
 public:
  virtual ~EventSink() = default;

  virtual void take(const Event& event) = 0;
  virtual bool is_wanted() const = 0;  // false: the client has gone, or the deadline is over
};

}  // namespace pc::serve
