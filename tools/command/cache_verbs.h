// The command line of `promptcache cache`: the verbs that are about stores.
//
// Internal to tools/command/. Threads: one at a time.
#pragma once

#include "tools/command/command_options.h"

namespace pc::cli {

void add_cache_verbs(CLI::App* app, Options* o);

}  // namespace pc::cli
