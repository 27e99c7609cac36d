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
  // In bytes. `size` is asked where this key was not this file's before; a file that is gone by
  // then has none, and counts for none.
  std::uint64_t of(const Digest& key, ino_t inode,
                   FunctionRef<std::optional<std::uint64_t>()> size);

  // About so many are there.
  std::size_t n_files();

  // Forgets all where it knows more: most of them are gone.
  void keep_at_most(std::size_t n_files);

 private:
  struct Known {
    ino_t inode;
    std::uint64_t n_bytes;
  };
  struct FirstBytes {
    std::size_t operator()(const Digest& key) const;
  };
  Mutex mutex_;
  std::unordered_map<Digest, Known, FirstBytes> known_ PC_GUARDED_BY(mutex_);
};

}  // namespace pc
