// The command line: every option of every verb, parsed once.
//
// Each flag can also be given as an environment variable, PROMPTCACHE_ and its
// long name in capitals (--cache-dir: PROMPTCACHE_CACHE_DIR); the flag wins.
#pragma once

#include <variant>

#include "tools/command/command_help.h"
#include "tools/opening/options.h"
#include "tools/output/failure.h"  // ExitCode

namespace pc::cli {

// Options with a verb to run, or the exit code of a command line that needs no
// more work: help was printed, or what is wrong with it.
std::variant<Options, ExitCode> parse_command_line(int argc, const char* const* argv);

// What --help says, of all verbs.
VerbHelp describe_command_line();

}  // namespace pc::cli
