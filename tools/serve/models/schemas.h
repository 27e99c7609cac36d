// The schemas that clients gave the server for a model, by their names, as many as it has room for.
// They stay where the model goes: their texts do, of which they are made again once it is back.
//
// Owner. What find() gave stays whole when the schema is replaced or removed. Threads: any.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <promptcache/promptcache.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace pc::serve {

class Schemas {
 public:
  using Handle = std::shared_ptr<const promptcache::Schema>;
  using Make = std::function<Handle(const std::string& pml)>;  // throws ApiError

  // A schema in memory takes some times the bytes of its text; a text has at most 4 MiB.
  static constexpr std::size_t kMost = 64, kMostBytes = std::size_t{64} << 20;

  // Replaces the one of that name. Throws ApiError where there is no room.
  void keep(const std::string& name, Handle schema, std::string pml);

  // Both throw ApiError, 404, where there is none; param: the field of the request that named it.
  Handle find(const std::string& name, const Make& make, const std::string& param = {});
  void remove(const std::string& name);

  std::vector<std::pair<std::string, Handle>> all(const Make& make);

  // Keeps the texts alone.
  void let_go();

 private:
  struct Kept {
    std::optional<Handle> schema;
    std::string pml;
  };
  static const Handle& made(Kept* kept, const Make& make);

  Mutex mutex_;
  std::map<std::string, Kept> kept_ PC_GUARDED_BY(mutex_);
};

// Throws ApiError.
Schemas::Handle parsed_schema(const promptcache::Engine& engine, const std::string& pml);

}  // namespace pc::serve
