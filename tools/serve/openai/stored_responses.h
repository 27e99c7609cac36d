// The latest responses, so that requests may follow them or ask for them again; what was used
// longest ago goes first. They live in memory: a restart forgets them.
//
// Owner. Threads: any.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <string>

#include "base/mutex.h"

namespace pc::serve {

struct StoredResponse {
  std::string response;      // JSON, as it was sent
  std::string conversation;  // JSON: the messages up to its answer, without instructions
};

class StoredResponses {
 public:
  // As many as a few dozen clients are likely to come back to; each has its whole conversation.
  static constexpr std::size_t kMost = 256, kMostBytes = std::size_t{64} << 20;

  void put(const std::string& id, StoredResponse response);
  std::optional<StoredResponse> find(const std::string& id);
  bool remove(const std::string& id);

 private:
  struct Entry {
    std::string id;
    StoredResponse stored;
    std::size_t bytes() const { return stored.response.size() + stored.conversation.size(); }
  };
  using Entries = std::list<Entry>;

  void drop(Entries::iterator entry) PC_REQUIRES(mutex_);

  Mutex mutex_;
  Entries entries_ PC_GUARDED_BY(mutex_);  // the latest used first
  std::map<std::string, Entries::iterator> by_id_ PC_GUARDED_BY(mutex_);
  std::size_t n_bytes_ PC_GUARDED_BY(mutex_) = 0;
};

}  // namespace pc::serve
