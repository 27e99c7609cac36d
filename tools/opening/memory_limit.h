// How much memory this process may use: the machine's, or less where a control group (of a
// container, a service, a batch job) has a limit.
//
// Pure but for the files that it reads. Threads: any.
#pragma once

#include <cstdint>
#include <string>

namespace pc::cli {

// Bytes: the least limit of the process's groups, of both versions of control groups, and of all
// groups that those lie in, as far as they are mounted; UINT64_MAX where there is none. root: of
// the file system that is read, "" for the real one.
std::uint64_t group_memory_bytes(const std::string& root);

// Bytes: that, or the machine's memory where it is less.
std::uint64_t usable_memory_bytes();

}  // namespace pc::cli
