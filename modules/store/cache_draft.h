// A file of the cache that is being made: of its full size on the disk, without a name, mapped to
// be written. Its bytes are zeros until they are written, where they will be read.
//
// CacheFolder::publish gives the file its name and ends the promise of its room; a draft that is
// not published is gone with its object. Once published, and after end_writing(), nobody may write.
// If publishing fails, the bytes must not be used: the system may have lost what it could not
// write. Owner; neither copied nor moved. Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/mapped_file.h"
#include "base/status.h"
#include "modules/store/cache_room.h"
#include "modules/store/unique_fd.h"

namespace pc {

class CacheDraft {
 public:
  CacheDraft(UniqueFd fd, WritableMapping mapping, CacheRoom room)
      : room_(std::move(room)), fd_(std::move(fd)), mapping_(std::move(mapping)) {}
  CacheDraft(const CacheDraft&) = delete;

  std::span<std::byte> bytes() { return mapping_.bytes(); }
  std::span<const std::byte> bytes() const { return mapping_.bytes(); }
  void end_writing() { mapping_.protect(); }
  // kIo where the system lost what was written (guard_mappings).
  Status check() const {
    if (!mapping_.is_lost()) return ok();
    return error(Code::kIo,
                 "the system lost a new file of the cache while it was written: is the "
                 "disk sound?");
  }
  int fd() const { return fd_.get(); }
  void release_room() { room_.release(); }

 private:
  CacheRoom room_;  // goes last
  UniqueFd fd_;
  WritableMapping mapping_;
};

}  // namespace pc
