// Room on the disk that is promised to one file that is to be: a locked file in tmp, as long as
// what it stands for, that takes no blocks. While it is there, CacheFolder::stored_bytes counts it,
// in every process, so that writers at the same time cannot promise the same room twice.
//
// The promise ends with release(), with its owner, or with the process: the lock is free then, and
// whoever sweeps removes the file. Move-only owner. Threads: one at a time.
#pragma once

#include <unistd.h>

#include <string>
#include <utility>

#include "modules/store/unique_fd.h"

namespace pc {

class CacheRoom {
 public:
  CacheRoom() = default;  // none
  CacheRoom(UniqueFd tmp, std::string name, UniqueFd locked)
      : tmp_(std::move(tmp)), name_(std::move(name)), locked_(std::move(locked)) {}
  CacheRoom(CacheRoom&&) noexcept = default;
  CacheRoom& operator=(CacheRoom&& other) noexcept {
    std::swap(tmp_, other.tmp_);
    std::swap(name_, other.name_);
    std::swap(locked_, other.locked_);
    return *this;
  }
  ~CacheRoom() { release(); }

  void release() {
    if (locked_) ::unlinkat(tmp_.get(), name_.c_str(), 0);
    locked_ = UniqueFd();
  }
  int fd() const { return locked_.get(); }
  explicit operator bool() const { return static_cast<bool>(locked_); }

 private:
  UniqueFd tmp_;
  std::string name_;
  UniqueFd locked_;
};

}  // namespace pc
