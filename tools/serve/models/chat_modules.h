// Which parts of a conversation are modules, by the request's mode.
//
// Pure. Threads: any.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "tools/serve/request/question.h"

namespace pc::serve {

// Is this text of a message a document that is to be a module? Asked in order, once for each text.
using IsDocument = std::function<bool(const std::string& text)>;

// The conversation, with "module": true where the mode makes one, and without clients' marks.
Json with_modules(const Json& chat, Mode mode, const IsDocument& is_document);

// What stands in front of a conversation's modules: they saw it while they were encoded.
struct ModulesFront {
  std::string said;   // texts of messages that are no modules
  std::string first;  // the first module: its text, or a tool's JSON
};

// Of what with_modules() made; nothing where that has none.
std::optional<ModulesFront> front_of(const Json& chat);

}  // namespace pc::serve
