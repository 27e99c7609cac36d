// A chat format out of a JSON file, for models whose own is not in the table:
//
//   {"system":    {"prefix": "", "suffix": "\n\n"},
//    "user":      {"prefix": "USER: ", "suffix": "\n"},
//    "assistant": {"prefix": "ASSISTANT: ", "suffix": "</s>\n"},
//    "generation_prefix": "ASSISTANT:"}
//
// These are required; "user_prefix_after_system", "user_prefix_after_assistant"
// (strings) and "bos" (true or false) may stand beside them. Anything else is
// an error that names it. docs/CHAT_TEMPLATES.md says what each is for.
// Threads: any; no state.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "pml/turns/chat_template.h"  // ChatTemplate

namespace pc {

// A file has at most 64 KiB, each of its strings at most 4096 bytes.
inline constexpr std::size_t kMaxChatFileBytes = std::size_t{64} << 10;
inline constexpr std::size_t kMaxRoleStringBytes = 4096;

// Is what the user gave a file, rather than a format's name? It is when it
// holds a '/' or ends with ".json".
bool is_chat_template_file(std::string_view name_or_path);

// Is it a file with a template in Jinja, which is run (chat_program.h)? It is when it ends with
// ".jinja".
bool is_chat_program_file(std::string_view path);
// Its text. Error: kInvalidArgument.
Result<std::string> read_chat_program(const std::string& path);

// `name` stands in messages and becomes the format's name.
// Errors: kCorrupt (not JSON, or not of this form), kUnsupported (over a limit).
Result<pml::ChatTemplate> parse_chat_template(std::string_view json, const std::string& name);

// Errors also: kNotFound, kIo.
Result<pml::ChatTemplate> read_chat_template_file(const std::string& path);

// What the user asked for: the path of such a file, or a name of the table.
// Error: kInvalidArgument, whatever is wrong with it: the option has to change.
Result<pml::ChatTemplate> choose_chat_template(const std::string& name_or_path);

}  // namespace pc
