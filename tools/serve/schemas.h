// The schemas that clients gave the server, by their names, as many as it has room for.
//
// Owner. What find() gave stays whole when the schema is replaced or removed. Threads: any.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <promptcache/promptcache.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace pc::serve {

class Schemas {
 public:
  using Handle = std::shared_ptr<const promptcache::Schema>;

  // A schema in memory takes some times the bytes of its text; a text has at most 4 MiB.
  static constexpr std::size_t kMost = 64, kMostBytes = std::size_t{64} << 20;

  // Replaces the one of that name. n_bytes: of its text. Throws ApiError where there is no room.
  void keep(const std::string& name, Handle schema, std::size_t n_bytes);

  // Both throw ApiError, 404, where there is none; param: the field of the request that named it.
  Handle find(const std::string& name, const std::string& param = {}) const;
  void remove(const std::string& name);

  std::vector<std::pair<std::string, Handle>> all() const;

 private:
  struct Kept {
    Handle schema;
    std::size_t n_bytes = 0;
  };

  mutable Mutex mutex_;
  std::map<std::string, Kept> kept_ PC_GUARDED_BY(mutex_);
};

}  // namespace pc::serve
