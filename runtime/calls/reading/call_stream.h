// Takes the calls of tools out of an answer while it grows: a call's name as soon as it is certain,
// its arguments as they arise.
//
// What begins like a call and turns out to be none is text. A call whose name was told stays one,
// however it goes on: where the answer is cut off within it, so are its arguments, and what stands
// behind it is text. JSON that is an answer, or the fenced block that ends one, is a call where it
// names a tool (loose_calls.h); only the answer's end tells. White space around calls is not kept.
//
// A state machine over the text whose meaning is not certain yet, which takes time in proportion to
// the answer, however many calls it seems to begin. Borrows shape and types. Threads: one at a
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/calls/reading/call_arguments.h"
#include "runtime/calls/reading/call_reader.h"
#include "runtime/calls/reading/loose_calls.h"
#include "runtime/calls/shape/call_cursor.h"
#include "runtime/calls/shape/call_shape.h"
#include "runtime/calls/shape/held_text.h"
#include "runtime/calls/shape/tool_call.h"
#include "runtime/calls/shape/tool_types.h"

namespace pc::calls {

struct CallPiece {
  enum class Kind {
    kText,
    kName,       // a call begins
    kArguments,  // of the latest call; all of them together are a JSON object
    kEnd         // the latest call is whole: one that is cut off has no end
  } kind = Kind::kText;
  std::string text;

  friend bool operator==(const CallPiece&, const CallPiece&) = default;
};

struct CallReading {
  bool must_call = false;         // the answer is held to be a call: what looks like one is
  bool takes_loose_calls = true;  // JSON that is written otherwise than the template does is one
};

class CallStream {
 public:
  CallStream(const CallShape& shape, const ToolTypes& types, CallReading reading = {})
      : shape_(shape), types_(types), reading_(reading) {}

  std::vector<CallPiece> push(std::string_view text);
  // The answer is over.
  std::vector<CallPiece> finish();

  std::uint32_t n_calls() const { return n_calls_; }
  // Is there a call that is not over?
  bool is_within_call() const { return state_ == State::kArguments || state_ == State::kTail; }

 private:
  enum class State {
    kText,       // looks for what begins a call
    kFence,      // in a fenced block that is perhaps a call
    kWhole,      // in what is perhaps a call, and can only be read when it is over
    kHead,       // at the beginning of a call: its name comes
    kArguments,  // in its arguments
    kTail,       // behind them, in the object of the call
    kBetween     // behind a call
  };
  // Where a call may begin in the held text; its size: nowhere.
  struct Candidate {
    std::size_t at = 0;
    State state = State::kText;  // what comes then; kText: more of the text is needed
  };

  // Goes on as far as the held text tells; false: more of it is needed.
  bool step();
  bool take_text();
  bool take_fence();
  bool take_head();
  bool take_object_head(std::string_view text);
  bool take_named_head(std::string_view text);
  bool take_arguments();
  bool take_tail();
  bool take_between();
  bool take_in_list();

  Candidate candidate();
  Candidate candidate_at_begin(std::size_t first) const;
  Candidate candidate_of_word();
  Candidate candidate_of_fence();
  Likeness likeness(std::string_view text) const;

  void say(std::string_view text);
  void begin_call(std::string_view name);
  void say_arguments(std::string text);
  void end_call();
  void begin_next(std::string_view rest);  // behind the words between two calls
  void open(std::string_view rest);        // what comes before the rest is the call's, if it is one
  bool give_up();                          // it is none; true
  void keep(std::string_view rest);        // what comes before it is done with
  std::optional<std::vector<ToolCall>> read_whole(std::string* behind) const;
  void finish_whole();

  const CallShape& shape_;
  const ToolTypes& types_;
  const CallReading reading_;
  State state_ = State::kText;
  HeldText held_;  // what is not understood yet; kHead, kWhole: what was passed may be no call
  WordSearch word_, fence_, line_, fence_end_;
  bool is_begun_ = false;  // kHead: behind the words that calls begin with
  bool in_list_ = false;   // calls stand in brackets
  bool in_code_ = false;   // in a fenced block that is text
  bool has_said_ = false;  // something else than white space
  std::optional<CallArguments> arguments_;
  Brackets tail_;
  std::uint32_t n_calls_ = 0;
  std::vector<CallPiece> out_;
};

// What pieces come to; those of a whole text.
ReadAnswer gather(const std::vector<CallPiece>& pieces);
ReadAnswer read_answer(const CallShape& shape, const ToolTypes& types, std::string_view text);

}  // namespace pc::calls
