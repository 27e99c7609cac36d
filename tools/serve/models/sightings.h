// How often long texts have come in requests: what comes again is worth a module.
//
// Remembers hashes, no texts; of too many, those that came last. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>

#include "base/mutex.h"

namespace pc::serve {

class Sightings {
 public:
  // A few megabytes.
  static constexpr std::size_t kMost = 65536;

  explicit Sightings(std::size_t most = kMost) : most_(most) {}

  // How often this text has come in this namespace, this time included. counts: it has come; else
  // it is only asked for.
  std::uint64_t see(const std::string& name_space, const std::string& text, bool counts);

 private:
  struct Seen {
    std::uint64_t n = 0;
    std::list<std::uint64_t>::iterator place;
  };

  const std::size_t most_;
  Mutex mutex_;
  std::list<std::uint64_t> latest_ PC_GUARDED_BY(mutex_);  // hashes, the latest in front
  std::unordered_map<std::uint64_t, Seen> seen_ PC_GUARDED_BY(mutex_);
};

}  // namespace pc::serve
