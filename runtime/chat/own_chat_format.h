// The chat format of a model's own template: the template is run for the turns
// of each conversation (turn_texts.h), and what it wrote is remembered.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "pml/text_encoder.h"
#include "runtime/chat/chat_program.h"

namespace pc {

inline constexpr const char* kOwnChatFormat = "the model's own";

// The format owns the program. What it writes for one list of roles never
// changes: a clock that runs is read here, once. The function is called from any
// thread. `name`: of the format.
pml::ChatFormat own_chat_format(ChatProgram program, ChatClock clock,
                                std::string name = kOwnChatFormat);

}  // namespace pc
