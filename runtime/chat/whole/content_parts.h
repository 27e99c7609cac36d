// Does a chat template write the parts of a content itself, or does it want one text? Learnt by
// running it: what is between two parts is the template's where it writes them ("One. \nTwo."), and
// nothing where it takes texts alone.
//
// Pure functions and a value. Threads: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "runtime/chat/program/chat_clock.h"
#include "runtime/chat/program/chat_program.h"
#include "runtime/jinja/values/value.h"

namespace pc {

// A list of {"type": "text", "text": ...}.
Result<jinja::Value> parts_value(const std::vector<std::string>& texts);

class ContentParts {
 public:
  ContentParts(const ChatProgram& program, const ChatClock& clock);

  // Are contents lists of parts and nothing else? Then a text is a list of one.
  bool only() const { return only_; }
  // Does it write both of two parts of a message of this role, once, in order, and nothing of them
  // but their texts? Else, and for a role that no conversation has, it is given one text.
  bool writes(std::string_view role) const;

 private:
  bool only_;
  std::vector<std::string> roles_;  // whose parts it writes
};

}  // namespace pc
