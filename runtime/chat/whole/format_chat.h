// A whole conversation as a chat format of the table (pml/turns/text_encoder.h) writes it, which
// knows three roles and no tools.
//
// Pure. Threads: any.
#pragma once

#include "base/status.h"
#include "pml/turns/text_encoder.h"
#include "runtime/chat/whole/chat_request.h"
#include "runtime/chat/whole/chat_text.h"

namespace pc {

// Errors: kUnsupported: tools, a role that it does not know, an order of turns that it does not
// write.
Result<ChatText> text_of_format(const pml::ChatFormat& format, const ChatRequest& chat);

}  // namespace pc
