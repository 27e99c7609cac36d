// Who holds a file's lock, and does it go on? What a waiter asks, because a lock that
// its holder's death frees is not freed where the holder is only stopped.
//
// Read from /proc, so of processes that can be seen from here: none of another container.
// Threads: any.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace pc {

// Processor time that the holder of this open file's flock has used so far, in ticks of
// the kernel's clock; nothing where nobody holds it, or nobody who can be seen.
std::optional<std::uint64_t> holder_ticks(int fd);

// The process that holds a file's flock, by the text of /proc/locks.
std::optional<pid_t> find_holder(std::string_view locks, dev_t device, ino_t inode);

// Processor time of all its threads, by the text of a process's stat.
std::optional<std::uint64_t> cpu_ticks(std::string_view stat);

}  // namespace pc
