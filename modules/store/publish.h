// How bytes become an object: complete and on the disk before they get their
// name, in one step, first writer wins.
//
// A crash at any instant leaves either nothing or the whole object; with
// kNamed it may leave an unfinished file in tmp/, which gc sweeps.
// Internal to modules/, but for files that are kept beside the store and made
// the same way (write_all, publish_file). Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/status.h"
#include "modules/module_store.h"  // Durability
#include "modules/store/store_dir.h"

namespace pc {

enum class Staging {
  kAnonymous,  // O_TMPFILE and linkat; kNamed where the file system has none
  kNamed,      // a file in tmp/, then a rename that does not replace
};

enum class Published {
  kNew,
  kExists,   // somebody was first; nothing was changed
  kNoSpace,  // the disk or the quota is full
};

// Writes all bytes at an offset. 0 or an errno.
int write_all(int fd, std::uint64_t offset, std::span<const std::byte> bytes);

// A file that is to be. The directories are one file system's.
struct NewFile {
  int dir_fd;  // where it will have its name
  int tmp_fd;  // where it may lie before, under a name of digits and dots
  std::string name;
  std::uint64_t bytes;            // taken on the disk before anything is written
  std::function<int(int)> write;  // all of them to this descriptor; 0 or an errno
};

// 0 or an errno: EEXIST where somebody was first.
int publish_file(const NewFile& file, Durability durability, Staging staging);

// Other failures: kIo. An error of fdatasync gives the bytes up: it is never tried again.
Result<Published> publish_bytes(const StoreDir& dir, const ModuleKey& key,
                                std::span<const std::byte> bytes, Durability durability,
                                Staging staging);

}  // namespace pc
