// Which files of a cache go first: a pure function of what its folder says of each of them.
//
// Every file is kept for as long as it is worth it: what keeping it is worth beside other files of
// its size, over the time since its last use. So a file that is worth twice as much goes when it
// has not been used for twice as long, and what is worth alike goes least recently used first. A
// file that was found again since it was made is worth half as much again: most are never found.
// Measured on traces of requests (docs/adr/0059-replacement.md).
//
// Pure functions. Threads: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/function_ref.h"
#include "base/hash.h"  // Digest

namespace pc {

struct CacheEntry {
  Digest key{};
  std::uint64_t file_bytes = 0;
  std::int64_t made_ns = 0;       // since 1970
  std::int64_t last_used_ns = 0;  // since 1970; as fine as the tenant's use_grain
  bool pinned = false;
};

// What keeping the file of this key is worth beside the others of its cache: for a byte, in any
// unit. Refers to nothing: all are worth the same.
using WorthOf = FunctionRef<double(const Digest& key)>;

// How much this file is to stay; the one with the least goes first.
double stay_of(const CacheEntry& entry, double worth, std::int64_t now_ns,
               std::chrono::nanoseconds use_grain);

// Files in the order in which they go. Of equal ones the least recently used goes first, then the
// least key.
void sort_for_eviction(std::vector<CacheEntry>* files, WorthOf worth, std::int64_t now_ns,
                       std::chrono::nanoseconds use_grain);

}  // namespace pc
