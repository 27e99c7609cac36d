// What the tests of the store share: opening, filling, asking, and spoiling it.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <ctime>
#include <fstream>
#include <memory>
#include <string>

#include "modules/module_store.h"
#include "tests/modules/support.h"
#include "tests/support/temp_folder.h"

namespace pc::test {

inline std::unique_ptr<ModuleStore> open_store(const std::string& dir,
                                               std::uint64_t budget = 1ull << 30) {
  return ModuleStore::open({.dir = dir, .budget_bytes = budget, .durability = Durability::kNone})
      .value();
}

// The files of that store, below it.
inline CacheFolder open_folder(const std::string& dir) {
  return CacheFolder::open(dir, kModuleTenant, CacheAccess::kMakeAll).value();
}

// Publishes and lets go, so that nothing is in use.
inline ModuleKey put(ModuleStore& store, const ModuleIdentity& id) {
  return store.publish(make_module(id)).value()->key();
}

// What publishing amid others may fail of: they use all that there is, have evicted it before it
// could be opened, or, on a machine that is busy enough, collect for longer than a writer waits.
inline bool may_happen(const Error& error) {
  return error.code == Code::kBudget || error.code == Code::kNotFound ||
         error.message.starts_with("another process is collecting");
}

inline MissReason miss_of(ModuleStore& store, const ModuleIdentity& id) {
  const Lookup lookup = store.find(id);
  CHECK((lookup.miss == MissReason::kNone) == static_cast<bool>(lookup));
  CHECK(lookup.why.empty() == static_cast<bool>(lookup));
  return lookup.miss;
}

// Writes over a published file, as a bad disk or a foreign program would.
inline void overwrite(const std::string& path, std::size_t offset, const std::string& bytes) {
  ::chmod(path.c_str(), 0600);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(offset));
  file << bytes;
  file.close();
  ::chmod(path.c_str(), 0400);
}

inline void set_used(const std::string& dir, const ModuleKey& key, std::time_t when) {
  const timespec times[2] = {{when, 0}, {when, 0}};
  REQUIRE(::utimensat(AT_FDCWD, object_path(dir, key).c_str(), times, 0) == 0);
  REQUIRE(::utimensat(AT_FDCWD, (dir + "/v3/used/" + key.hex()).c_str(), times, 0) == 0);
}

}  // namespace pc::test
