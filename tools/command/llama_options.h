// Options of llama-bench that have no meaning here. Each is accepted, so that a command line of
// llama-bench runs as it is, and named in a remark with the reason; one whose value would have
// something else measured than it says is refused, as are several values, which would print one
// measurement under several names. docs/CLI.md has the table.
//
// Internal to tools/command/. Threads: one at a time.
#pragma once

#include "tools/command/command_options.h"

namespace pc::cli {

// What is given is told to options->without_meaning.
void add_llama_options(CLI::App* verb, BenchOptions* options);

}  // namespace pc::cli
