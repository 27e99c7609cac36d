// Two made-up tenants of the file cache: one in folders of its own, one that has everything in a
// single folder; and what tests do with them.
#pragma once

#include <chrono>
#include <cstdint>
#include <fstream>
#include <span>
#include <sstream>
#include <string>

#include "modules/store/cache_folder.h"
#include "tests/support/temp_folder.h"

namespace pc::test {

inline constexpr CacheTenant kRooms{.files = "rooms/files",
                                    .suffix = ".thing",
                                    .used = "rooms/used",
                                    .locks = "rooms/locks",
                                    .quarantine = "rooms/quarantine",
                                    .pins = "rooms/pins",
                                    .tmp = "rooms/tmp"};
inline constexpr CacheTenant kSingle{
    .files = "one", .tmp = "one", .use_grain = std::chrono::hours(24)};

inline CacheFolder open(const TempFolder& dir, const CacheTenant& tenant,
                        CacheAccess access = CacheAccess::kMakeFolders) {
  return CacheFolder::open(dir.path(), tenant, access).value();
}

inline Digest key(std::uint8_t fill) {
  Digest digest;
  digest.fill(fill);
  return digest;
}

inline Published put(const CacheFolder& folder, const Digest& key, const std::string& text,
                     Staging staging = Staging::kAnonymous) {
  return folder.publish(key, std::as_bytes(std::span(text)), Durability::kNone, staging).value();
}

inline std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// A user who is neither we nor root.
inline constexpr uid_t kStranger = 12345;

}  // namespace pc::test
