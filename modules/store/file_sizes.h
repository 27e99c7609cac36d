// Sizes of a folder's files, so that a folder of thousands is summed by reading its names alone: a
// name is its file's key, and the files of one key have one size, unless one is damaged.
//
// A memory, never the truth: whoever sums reads the folder. Threads: any.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/function_ref.h"
#include "base/hash.h"  // Digest
#include "base/mutex.h"

namespace pc {

class FileSizes {
 public:
  // The bytes of the file with this key and inode number. `size` is called where that pair is not
  // known yet; a file that is gone by then counts as 0 bytes.
  std::uint64_t of(const Digest& key, ino_t inode,
                   FunctionRef<std::optional<std::uint64_t>()> size);

  // About how many sizes are known.
  std::size_t n_files();

  // Forgets all sizes where more than n_files are known: most of those files are gone by then.
  void keep_at_most(std::size_t n_files);

 private:
  struct Known {
    ino_t inode;
    std::uint64_t n_bytes;
  };
  Mutex mutex_;
  std::unordered_map<Digest, Known, DigestHash> known_ PC_GUARDED_BY(mutex_);
};

}  // namespace pc
