// The chat format of a model's own template: the template is run for the turns
// of each conversation (turn_texts.h), and what it wrote is remembered.
//
// A format is of one day: what it writes for one list of roles never changes, so that a schema and
// the prompts that import from it agree, whenever they come. A value that shares what it owns.
// Threads: any.
#pragma once

#include <memory>
#include <string>

#include "pml/turns/text_encoder.h"
#include "runtime/chat/program/chat_program.h"

namespace pc {

inline constexpr const char* kOwnChatFormat = "the model's own";

class OwnChatFormat {
 public:
  // Owns the program. `name`: of the formats.
  OwnChatFormat(ChatProgram program, ChatClock clock, std::string name = kOwnChatFormat);

  // That of the time which the clock shows now; formats of one time share what they remember.
  pml::ChatFormat today() const;
  // What it is today, each time that it is asked: for what does not hang on the day.
  pml::ChatFormat running() const;

 private:
  struct Days;
  std::shared_ptr<Days> days_;
};

}  // namespace pc
