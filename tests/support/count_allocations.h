// Counts every operator new of the program it is linked into, its libraries'
// included. Threads: any.
#pragma once

namespace pc::test {

long allocations();

}  // namespace pc::test
