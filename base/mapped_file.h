// A read-only, shared mapping of a whole file: the only mmap of files in the
// project.
//
// Move-only owner. The mapping outlives the descriptor and survives the
// file's unlink or replacement by rename; it does not survive truncation in
// place (SIGBUS), so the project never truncates a published file. A file that
// was opened by path keeps its descriptor, so that it can be asked whether it
// changed, whatever its path names by then.
// Threads: const methods from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/status.h"

namespace pc {

// Two equal ones, taken at two times, say that nobody wrote to the file between
// them through its descriptors or set its times: any of that moves ctime_ns.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0, size_bytes = 0;
  std::int64_t mtime_ns = 0, ctime_ns = 0;  // since 1970: of the bytes; of anything at all

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

class MappedFile {
 public:
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept { swap(other); }
  MappedFile& operator=(MappedFile&& other) noexcept {
    MappedFile(std::move(other)).swap(*this);
    return *this;
  }
  ~MappedFile();

  // Errors: kNotFound, kIo (with the path and the system's reason). A
  // directory, FIFO or device is refused; an empty file maps to no bytes.
  static Result<MappedFile> open(const std::string& path);

  // The same for an open descriptor, which stays the caller's. `name` is for messages.
  static Result<MappedFile> map(int fd, std::uint64_t size_bytes, const std::string& name);

  std::span<const std::byte> bytes() const { return {data_, size_}; }

  // Of a file that was opened by path: what it was then, and whether it still is.
  const FileIdentity& identity() const { return identity_; }
  bool is_unchanged() const;

  // Takes the mapping's pages from this process. Touched again they come back, from
  // the page cache if they still are there.
  void let_go() const;

  // Asks the kernel to read [offset, offset + n) ahead. A hint: never fails.
  void will_need(std::size_t offset, std::size_t n) const;

 private:
  void swap(MappedFile& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(fd_, other.fd_);
    std::swap(identity_, other.identity_);
  }
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  int fd_ = -1;  // of open(), not of map()
  FileIdentity identity_;
};

// Both take the pages that hold some of these bytes, of a mapping or not, and are
// hints: a failure changes nothing. will_need() has them read without waiting for
// it, in pieces of at most what the kernel takes at once (it drops the rest), unless
// the kernel reads large pages ahead anyway; populate() waits, and maps them, so
// that touching them faults no more (an old kernel reads them without waiting).
void will_need(std::span<const std::byte> bytes);

void populate(std::span<const std::byte> bytes);

// Does the page that holds this byte lie in memory? True where it cannot be known.
bool is_resident(const std::byte* byte);

}  // namespace pc
