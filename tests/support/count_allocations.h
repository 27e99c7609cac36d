// Counts every operator new of the program it is linked into, its libraries'
// included. Threads: any.
#pragma once

namespace pc::test {

long allocations();
long allocated_bytes();  // what all of them asked for, freed or not

}  // namespace pc::test
