// `run --compare`: one prompt answered with and without reuse.
#pragma once

#include <promptcache/promptcache.hpp>

#include "tools/opening/options.h"

namespace pc::cli {

// Prints three generations side by side: a first with reuse, which encodes what
// is missing; one with a full prefill; and a second with reuse. The last two
// are the fair pair: a full prefill that is not counted goes before them, so
// that neither pays for what a process pays once (pages of the weights, matrix
// kernels made for a shape).
ExitCode compare(const promptcache::Prompt& prompt, const Options& options);

}  // namespace pc::cli
