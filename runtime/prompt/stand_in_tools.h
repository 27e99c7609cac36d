// Tools that nobody has, as a model's chat template writes them: they stand in for those that a
// conversation's tools have not seen (docs/adr/0056-slots-found.md). Tools come with every request
// of a program, so that other conversations' tools, unlike documents, may never be seen.
//
// Threads: any.
#pragma once

#include <string>
#include <vector>

#include "runtime/chat/whole/chat_request.h"
#include "runtime/engine/engine.h"

namespace pc {

// Are they all that the conversation has for modules?
bool has_tools_alone(const ChatRequest& chat);

// As many as slots are told apart (chat_stand_ins.h); none where the template writes no tools.
std::vector<std::string> stand_in_tools(const Engine& engine);

}  // namespace pc
