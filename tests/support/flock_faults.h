// Takes the place of flock in the program it is linked into: lets it fail, and counts.
// Threads: any.
#pragma once

namespace pc::test {

// Every exclusive lock fails with this errno from now on; 0: none does.
void fail_flock(int errno_value);

// Attempts to take an exclusive lock so far.
int flock_attempts();

}  // namespace pc::test
