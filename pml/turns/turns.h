// What a chat format writes around the turns of a conversation that is not over yet.
//
// Pure. Threads: any.
#pragma once

#include <span>
#include <vector>

#include "base/status.h"
#include "pml/turns/text_encoder.h"

namespace pc::pml {

// [roles.size()] what stands around the turns of a schema. A format may write the last
// turn of a conversation otherwise than the others: a system text opens the user's turn
// behind it, an answer keeps its thoughts. But the turns of a prompt follow those of a
// schema. So, if the roles do not end with the user's and the format has such a
// conversation, the format is asked for the roles with a user's turn behind them.
// Errors: those of ChatFormat::turns, for the roles themselves.
Result<std::vector<TurnText>> turns_to_continue(const ChatFormat& chat,
                                                std::span<const Role> roles);

}  // namespace pc::pml
