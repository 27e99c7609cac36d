// A prompt without XML: a list of messages, or one text.
//
// Text is taken as it stands: nothing is folded, and markup is text. Pure. Threads: any.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "pml/syntax/prompt.h"
#include "pml/syntax/role.h"

namespace pc::pml {

// Text, or a module by its path ("europe/paris") with its own parameters' arguments.
struct MessagePart {
  std::string_view text;
  std::string module;  // "": text
  std::vector<Argument> arguments;
};

struct Message {
  Role role = Role::kUser;
  std::vector<MessagePart> parts;
};

// The prompt for schema `schema` that has these turns. A module brings what it stands in: parts
// "europe/paris" and "europe/rome" one behind the other are both in one import of europe.
// kInvalidArgument: a path with an empty name.
Result<Prompt> prompt_of(std::string_view schema, std::span<const Message> messages);

// The prompt that is this text, in no turn.
Prompt prompt_of(std::string_view schema, std::string_view text);

}  // namespace pc::pml
