// The prompt of a whole conversation (runtime/chat/chat_request.h), as the model's own template
// writes it, or a named chat format does.
//
// Parts and tools that are to be modules become modules of a schema of their own, called "chat",
// which see the text that all of them stand behind (attend="prefix"); all other text is the
// prompt's, and found as a chain. Threads: any.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "runtime/chat/chat_text.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/loaded_prompt.h"

namespace pc {

// Errors: those of read_chat() and of the template; kUnsupported: the model has no chat format, or
// a named one is to write tools.
Result<ChatText> text_of_chat(const Engine& engine, std::string_view json);

// name_space: as LoadedSchema::parse.
Result<std::shared_ptr<const LoadedPrompt>> prompt_of_chat(
    std::shared_ptr<const Engine> engine, std::string_view json,
    const std::optional<std::string>& name_space);

}  // namespace pc
