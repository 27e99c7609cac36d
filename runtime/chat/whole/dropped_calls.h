// Does a chat template write the calls of tools that an answer of a conversation has? Many that
// tell a model how to call tools write none of its calls, and lose them without a word.
//
// Pure. Threads: any.
#pragma once

#include "runtime/chat/program/chat_clock.h"
#include "runtime/chat/program/chat_program.h"

namespace pc {

// True where it renders an answer that is a call, and writes nothing of its name and argument,
// however the arguments and the missing text are given to it. False where it refuses all of them.
bool drops_calls(const ChatProgram& program, const ChatClock& clock);

}  // namespace pc
