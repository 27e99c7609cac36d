// Which files of a cache go first: a pure function of what its folder says of each of them.
//
// Every file is kept for as long as it is worth it: what keeping it is worth beside other files of
// its size, over the time since its last use. So a file that is worth twice as much goes when it
// has not been used for twice as long, and what is worth alike goes least recently used first. A
// file that was found again since it was made is worth half as much again: most are never found.
// Measured on traces of requests (docs/adr/0059-replacement.md).
//
// No file is touched here. An order borrows what it was given until it is gone. Threads: one at a
// time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
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

// What keeping the file of this key is worth beside the others of its cache: for a byte, 1 or more.
// Refers to nothing: all are worth 1.
using WorthOf = FunctionRef<double(const Digest& key)>;

// How much this file is to stay; the one with the least goes first.
double stay_of(const CacheEntry& entry, double worth, std::int64_t now_ns,
               std::chrono::nanoseconds use_grain);

// Files in the order in which they go. Of equal ones the least recently used goes first, then the
// least key. To know what a file is worth it may have to be opened, so only those are asked that
// would go if they were worth 1.
class EvictionOrder {
 public:
  EvictionOrder(std::vector<CacheEntry> files, WorthOf worth, std::int64_t now_ns,
                std::chrono::nanoseconds use_grain);

  // The next one; nothing where none is left.
  std::optional<CacheEntry> next();

 private:
  struct Place {
    double stay;  // at least, as long as it is not weighed
    bool is_weighed;
    CacheEntry entry;
  };
  static bool goes_later(const Place& a, const Place& b);

  WorthOf worth_;
  std::int64_t now_ns_;
  std::chrono::nanoseconds use_grain_;
  std::vector<Place> heap_;  // who goes next is in front
};

}  // namespace pc
