// The end of the process, for what a GPU would hang at, or answer with anything at all.
//
// Threads: any.
#pragma once

namespace pc::cuda::standin {

// Writes the sentence to stderr and traps.
[[noreturn, gnu::format(printf, 1, 2)]] void stop(const char* format, ...);

}  // namespace pc::cuda::standin
