// The command line of `promptcache bench`: llama-bench's whole one, ours beside it, and that of
// `promptcache bench compare`.
//
// Internal to tools/command/. Threads: one at a time.
#pragma once

#include "tools/command/command_options.h"

namespace pc::cli {

void add_bench(CLI::App* app, Options* o);

}  // namespace pc::cli
