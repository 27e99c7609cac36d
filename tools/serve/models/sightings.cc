#include "tools/serve/models/sightings.h"

#include <functional>

namespace pc::serve {

std::uint64_t Sightings::see(const std::string& name_space, const std::string& text, bool counts) {
  // Two texts of one hash are encoded a sighting too early, which costs time alone.
  const std::uint64_t hash = std::hash<std::string>()(name_space + '\0' + text);
  const MutexLock lock(mutex_);
  if (!counts) {
    const auto known = seen_.find(hash);
    return known == seen_.end() ? 1 : known->second.n + 1;
  }
  const auto [found, is_new] = seen_.try_emplace(hash);
  if (is_new)
    latest_.push_front(hash);
  else
    latest_.splice(latest_.begin(), latest_, found->second.place);
  found->second.place = latest_.begin();
  const std::uint64_t n = ++found->second.n;
  if (seen_.size() > most_) {
    seen_.erase(latest_.back());
    latest_.pop_back();
  }
  return n;
}

}  // namespace pc::serve
