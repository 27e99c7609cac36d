// The chat format of a model's own template: the template is run for the turns
// of each conversation (turn_texts.h), and what it wrote is remembered.
//
// A ChatFormat that it makes belongs to one day: what it writes for a list of roles never changes,
// so that a schema and the prompts that import from it agree, however late they come. A value;
// copies share what they own. Threads: any.
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

  // The format that renders with the date that the clock shows now, for ever. Formats of the same
  // date share what they remember.
  pml::ChatFormat today() const;
  // A format that renders with the date on which it is asked: for callers that need no fixed date.
  pml::ChatFormat running() const;

 private:
  struct Days;
  std::shared_ptr<Days> days_;
};

}  // namespace pc
