// pread and pwrite of a test program that links file_faults.cc: they can be told to fail.
// Threads: any.
#pragma once

namespace pc::test {

// The next n reads (writes) of files fail with this errno, all of them where n is negative; with 0
// they do nothing, and say so.
void fail_reads(int errno_value, int n);
void fail_writes(int errno_value, int n);
// At most so many bytes are moved by a call; 0: as many as are asked for.
void shorten_calls(int n_bytes);
// Calls of both since the beginning.
int n_file_calls();

}  // namespace pc::test
