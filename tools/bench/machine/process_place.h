// Where and how urgently this process runs: the CPUs that it may use, and its priority. Threads
// that are started later have it from the one that calls this. Threads: any.
#pragma once

#include <cstdint>
#include <string>

namespace pc::cli {

// "0x3", or "3": the CPUs 0 and 1, as bits. Throws Failure for what is no such mask, for one whose
// CPUs are not there, and where the system refuses.
void run_on_cpus(const std::string& mask);

// From -1 (low) to 3 (that of real time), as llama.cpp numbers them: the nice values 5, 0, -5, -10
// and -20. Throws Failure where the system refuses, as it does users who want more than others
// have.
void set_priority(std::int32_t priority);

}  // namespace pc::cli
