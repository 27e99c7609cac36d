// `run --compare`: one prompt answered with and without reuse.
#pragma once

#include <promptcache/promptcache.hpp>

#include "tools/options.h"

namespace pc::cli {

// Three generations. The first reuses, and encodes what is missing; it also
// brings the weights into memory, so that neither of the next two, a full
// prefill and a second reuse, pays for that. Prints them side by side.
ExitCode compare(const promptcache::Prompt& prompt, const Options& options);

}  // namespace pc::cli
