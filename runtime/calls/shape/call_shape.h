// How a model writes calls of tools (call_learning.h finds out).
//
// Nearly all published templates write one of four shapes (docs/SERVER.md has a table):
//   an object:   <tool_call>{"name": NAME, "arguments": {...}}</tool_call>, alone or in a list
//   a header:    [TOOL_CALLS]NAME[ARGS]{...}
//   parameters:  <function=NAME><parameter=KEY>VALUE</parameter></function>
//   Python:      [NAME(KEY="VALUE", KEY=3), NAME()]
// The words around them are the template's. Immutable value. Threads: any.
#pragma once

#include <string>

namespace pc::calls {

struct CallShape {
  enum class Kind { kObject, kHeader, kParameters, kPython };

  Kind kind = Kind::kObject;
  // White space in words does not count where calls are read; where one is written, it is there.
  // What the first call begins with, what stands between two, and what ends the last. An empty
  // `begin`: an answer is a call where all of it is one. The brackets of a list are none of them.
  std::string begin, between, end;
  std::string name_key, arguments_key;                       // kObject
  std::string after_name, key_open, key_close, value_close;  // kParameters
  std::string between_values;  // kParameters: white space between value_close and key_open
  // One call as the template writes it: what stands before its object or its name, between name
  // and arguments (kHeader), and behind them (kPython: behind its closing bracket).
  std::string written_begin, written_middle, written_end;
  // How the template wants a call that was made: its arguments as JSON in a string, and an answer
  // without text as null. Most want an object, and "".
  bool wants_text = false, wants_null = false;
  bool is_told = false;  // the template says how, and writes none (told_calls.h)

  friend bool operator==(const CallShape&, const CallShape&) = default;
};

}  // namespace pc::calls
