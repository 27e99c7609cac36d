// The calls about files below one folder that a test program makes which links store_faults.cc:
// they are counted, and can be told to fail. Calls about other files are not touched. Threads: any.
#pragma once

#include <string>

namespace pc::test {

// From now on the calls below this folder count, from 0, and none fails. "" ends it.
void watch_folder(const std::string& path);
// The call of this number fails with this errno, and all after it where `for_ever`.
void fail_from(int call, int errno_value, bool for_ever);
// From now on no byte of the file that now has this name can be read (EIO). "" ends it.
void spoil_file(const std::string& path);
// Reads and writes move at most so many bytes at once; 0: as many as are asked for.
void move_at_most(int n_bytes);
// The call of this number below the folder, and all after it, do not return before this is called
// with -1.
void hang_from(int call);
// What the folder looks like: on a file system that may hang, and another user's.
void pretend(bool is_remote, bool is_others);
int n_folder_calls();
// "openat": the first one that failed; "" for none.
std::string failed_call();

}  // namespace pc::test
