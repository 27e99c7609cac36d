// Which parts of a conversation are modules, by the request's mode.
//
// Pure. Threads: any.
#pragma once

#include <functional>
#include <string>

#include "tools/serve/request/question.h"

namespace pc::serve {

// Is this text of a message a document that is to be a module? Asked in order, once for each text.
using IsDocument = std::function<bool(const std::string& text)>;

// The conversation as pc_prompt_from_chat takes it: what the mode makes modules has "module": true,
// and clients' marks are gone. has_modules: any has; may be null.
Json with_modules(const Json& chat, Mode mode, const IsDocument& is_document, bool* has_modules);

}  // namespace pc::serve
