// Where a prompt's turns may be cut off: where the user's begin to say something.
//
// Pure. Threads: any.
#pragma once

#include <vector>

#include "runtime/conversation/parts.h"
#include "runtime/prompt/loaded_prompt.h"

namespace pc {

// By position; none where the prompt's turns are no chat.
std::vector<Cut> cuts_of(const LoadedPrompt& prompt);

}  // namespace pc
