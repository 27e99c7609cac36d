#include "modules/store/file_sizes.h"

namespace pc {

std::uint64_t FileSizes::of(const Digest& key, ino_t inode,
                            FunctionRef<std::optional<std::uint64_t>()> size) {
  const MutexLock lock(mutex_);
  const auto found = known_.find(key);
  if (found != known_.end() && found->second.inode == inode) return found->second.n_bytes;
  const std::optional<std::uint64_t> n_bytes = size();
  if (!n_bytes) return 0;
  known_[key] = {inode, *n_bytes};
  return *n_bytes;
}

std::size_t FileSizes::n_files() {
  const MutexLock lock(mutex_);
  return known_.size();
}

void FileSizes::keep_at_most(std::size_t n_files) {
  const MutexLock lock(mutex_);
  if (known_.size() > n_files) known_.clear();
}

}  // namespace pc
