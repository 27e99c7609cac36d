// A read-only, shared mapping of a whole file, and one to write a new file: the only mmap of files
// in the project.
//
// Move-only owner. The mapping outlives the descriptor and survives the
// file's unlink or replacement by rename. It does not survive truncation in place, so the project
// never truncates a published file; where somebody else does, or where a disk fails, reading the
// mapping is a signal (SIGBUS), which ends the process, or makes the mapping a lost one
// (guard_mappings). A file that was opened by path, or was given its descriptor, can be asked
// whether it changed, whatever its path names by then.
// Threads: const methods from any thread.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/status.h"

namespace pc {

// Nanoseconds since 1970. A file's owner may give it any time, and file systems keep years that no
// count of nanoseconds holds: these are cut to 1824 and 2115, so that the difference of any two
// times is a number, too.
inline std::int64_t to_ns(const timespec& time) {
  constexpr std::int64_t kFarthestSeconds = 4'600'000'000;  // twice as long is less than 2^63 ns
  const std::int64_t seconds =
      std::clamp<std::int64_t>(time.tv_sec, -kFarthestSeconds, kFarthestSeconds);
  return seconds * 1'000'000'000 + time.tv_nsec;
}

// A file as it is at one moment. If the identities of two moments are equal, then between
// them nobody wrote to the file through a descriptor or set its times, because each of
// these changes ctime_ns.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0, size_bytes = 0;
  std::int64_t mtime_ns = 0;  // when the bytes were last written, since 1970
  std::int64_t ctime_ns = 0;  // when the bytes or anything about the file last changed

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

// What the guard below knows of a mapping (base/mapping_guard.cc), for the mappings here alone.
// protection: PROT_READ or more, of the pages that may have to take the place of lost ones.
struct GuardedRange;
GuardedRange* guard_range(std::span<const std::byte> bytes, int protection);
void set_protection(GuardedRange* range, int protection);
void release_range(GuardedRange* range);  // before the mapping goes
bool is_lost(const GuardedRange& range);

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

  // Takes the descriptor of the file that map() has mapped.
  void keep(int fd);

  std::span<const std::byte> bytes() const { return {data_, size_}; }

  // The file's identity when it was mapped; is_unchanged(): whether the file still has it. Without
  // a descriptor that cannot be known, and is_unchanged() is false.
  const FileIdentity& identity() const { return identity_; }
  bool has_descriptor() const { return fd_ >= 0; }  // without one, a changed file goes unnoticed
  bool is_unchanged() const;
  // Is the file known to have been written to? To rename or unlink it is not to write to it.
  bool was_written() const;

  // Could some of the file not be read, so that zeros stand in its place (guard_mappings)?
  bool is_lost() const;

  // Gives back the memory that the mapping takes in this process. The mapping stays: a
  // page that is touched again comes from the page cache, or else from the file.
  void let_go() const;

 private:
  void swap(MappedFile& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(fd_, other.fd_);
    std::swap(identity_, other.identity_);
    std::swap(guarded_, other.guarded_);
  }
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  int fd_ = -1;  // that open() made, or keep() took
  FileIdentity identity_;
  GuardedRange* guarded_ = nullptr;  // of data_
};

// From now on, for all of this process: where a page of a mapping cannot be read or written, zeros
// take its place and that of all behind it, and the mapping is lost. Whoever computes with mappings
// asks afterwards; what was computed with a lost one counts for nothing. Installs a handler of
// SIGBUS, which passes everything else on to the one that was there. Called more than once, it does
// it once. kIo.
Status guard_mappings();

// How many mappings this process has lost so far. While it is 0, no mapping need be asked.
std::uint64_t n_lost_mappings();

// A shared mapping of a file that is being made, to be written in place. Move-only owner. The file
// must have all of its bytes on the disk, or a write may end the process (SIGBUS) or, where
// mappings are guarded, lose them.
class WritableMapping {
 public:
  WritableMapping(WritableMapping&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})), guarded_(other.guarded_) {}
  ~WritableMapping();

  // Of an open descriptor, which stays the caller's. `name` is for messages. size_bytes > 0.
  static Result<WritableMapping> map(int fd, std::uint64_t size_bytes, const std::string& name);

  std::span<std::byte> bytes() const { return bytes_; }
  void protect() const;  // from now on a write through bytes() ends the process

  // Was something that was written lost, so that zeros stand in its place (guard_mappings)?
  bool is_lost() const;

 private:
  explicit WritableMapping(std::span<std::byte> bytes);
  std::span<std::byte> bytes_;
  GuardedRange* guarded_;  // of bytes_, where there are any
};

// Hints about the pages that hold these bytes, which need not be a mapping's. A hint
// that fails changes nothing.
//
// expect_all(): all of them will be read. Where the kernel and the file system can, the pages that
// are not in memory yet come in 2 MiB each: a five-hundredth of the faults, and 10 % more
// bandwidth. For bytes of which little is read it is harmful: each touch of a page reads 4 MiB of
// the file.
//
// will_need() asks the kernel to read the pages, and does not wait. It asks in pieces,
// because the kernel drops what is more than it reads at once; where the kernel reads
// large pages ahead by itself, it asks for nothing.
void expect_all(std::span<const std::byte> bytes);
void will_need(std::span<const std::byte> bytes);
void ask_for(std::span<const std::byte> bytes);

// ask_for() asks as well where the kernel would read larger pages by itself once they are touched:
// for what nobody touches yet.
//
// populate() waits until the pages are read and maps them, so that no access faults
// afterwards. On Linux before 5.14 it only asks, as will_need() does.
void populate(std::span<const std::byte> bytes);

// Whoever reads the file through this descriptor will read it from its beginning to its end: the
// kernel reads twice as far ahead.
void read_in_order(int fd);

// Does the page that holds this byte lie in memory? True where it cannot be known.
bool is_resident(const std::byte* byte);

// Of this machine; UINT64_MAX where it cannot be known.
std::uint64_t machine_memory_bytes();

}  // namespace pc
