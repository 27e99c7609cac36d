// What a chat format writes around turns that a conversation goes on behind.
//
// Pure. Threads: any.
#pragma once

#include <span>
#include <vector>

#include "base/status.h"
#include "pml/text_encoder.h"

namespace pc::pml {

// [roles.size()]. A prompt's turns follow those of a schema, and a format may
// write a turn otherwise where it is the last: a system text opens the user's
// turn behind it, an answer keeps its thoughts. So the user's turn follows
// where the roles end with another, if the format has such a conversation.
// Errors: those of ChatFormat::turns, for the roles themselves.
Result<std::vector<TurnText>> turns_to_continue(const ChatFormat& chat,
                                                std::span<const Role> roles);

}  // namespace pc::pml
