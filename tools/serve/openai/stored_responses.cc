#include "tools/serve/openai/stored_responses.h"

#include <iterator>
#include <utility>

namespace pc::serve {

void StoredResponses::put(const std::string& id, StoredResponse response) {
  const MutexLock lock(mutex_);
  entries_.push_front({id, std::move(response)});
  by_id_[id] = entries_.begin();
  n_bytes_ += entries_.front().bytes();
  while (entries_.size() > kMost || n_bytes_ > kMostBytes) drop(std::prev(entries_.end()));
}

std::optional<StoredResponse> StoredResponses::find(const std::string& id) {
  const MutexLock lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, found->second);
  return entries_.front().stored;
}

bool StoredResponses::remove(const std::string& id) {
  const MutexLock lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return false;
  drop(found->second);
  return true;
}

void StoredResponses::drop(Entries::iterator entry) {
  n_bytes_ -= entry->bytes();
  by_id_.erase(entry->id);
  entries_.erase(entry);
}

}  // namespace pc::serve
