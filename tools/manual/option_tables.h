// docs/OPTIONS.md: every verb with all of its options, made of what --help says.
// Pure; any thread.
#pragma once

#include <string>

#include "tools/command/command_help.h"

namespace pc::cli {

// Markdown; verbs as --help lists them, the command itself first.
std::string option_tables(const VerbHelp& command);

}  // namespace pc::cli
