#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace pc {
namespace {

Error system_error(const std::string& what, const std::string& path, int errno_value) {
  const Code code = errno_value == ENOENT ? Code::kNotFound : Code::kIo;
  return error(code, what + " " + path + ": " + std::generic_category().message(errno_value));
}

FileIdentity identity_of(const struct stat& st) {
  return {st.st_dev, st.st_ino, static_cast<std::uint64_t>(st.st_size), to_ns(st.st_mtim),
          to_ns(st.st_ctim)};
}

// Gives the kernel advice about the whole pages around the bytes. True if it took it.
bool advise(std::span<const std::byte> bytes, int advice) {
  if (bytes.empty()) return true;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t skipped = begin % page;
  return ::madvise(const_cast<std::byte*>(bytes.data() - skipped), bytes.size() + skipped,
                   advice) == 0;
}

// True where the kernel reads pages of 2 MiB ahead by itself from now on.
bool want_large_pages(std::span<const std::byte> bytes) {
#ifdef MADV_HUGEPAGE
  return advise(bytes, MADV_HUGEPAGE);
#else
  return bytes.empty();
#endif
}

}  // namespace

MappedFile::~MappedFile() {
  if (fd_ >= 0) ::close(fd_);
  if (guarded_) release_range(guarded_);
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

Result<MappedFile> MappedFile::open(const std::string& path) {
  MappedFile file;  // closes it, whatever fails
  // O_NONBLOCK: opening a FIFO must not hang; regular files ignore it.
  file.fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.fd_ < 0) return system_error("cannot open", path, errno);
  struct stat st {};
  if (::fstat(file.fd_, &st) != 0) return system_error("cannot stat", path, errno);
  if (!S_ISREG(st.st_mode)) return error(Code::kIo, path + " is not a regular file");
  PC_TRY(MappedFile mapped, map(file.fd_, static_cast<std::uint64_t>(st.st_size), path));
  mapped.keep(std::exchange(file.fd_, -1));
  return mapped;
}

void MappedFile::keep(int fd) {
  PC_EXPECT(fd_ < 0 && fd >= 0);
  fd_ = fd;
}

bool MappedFile::is_unchanged() const {
  struct stat st {};
  return fd_ >= 0 && ::fstat(fd_, &st) == 0 && identity_of(st) == identity_;
}

bool MappedFile::was_written() const {
  struct stat st {};
  if (fd_ < 0 || ::fstat(fd_, &st) != 0) return false;
  const FileIdentity now = identity_of(st);
  return now.size_bytes != identity_.size_bytes || now.mtime_ns != identity_.mtime_ns;
}

bool MappedFile::is_lost() const {
  return guarded_ && pc::is_lost(*guarded_);
}

Result<MappedFile> MappedFile::map(int fd, std::uint64_t size_bytes, const std::string& name) {
  MappedFile file;
  struct stat st {};
  if (::fstat(fd, &st) != 0) return system_error("cannot stat", name, errno);
  file.identity_ = identity_of(st);
  if (file.identity_.size_bytes != size_bytes)
    return error(Code::kIo, name + " changes while it is opened");
  if (size_bytes == 0) return file;
  void* p = ::mmap(nullptr, size_bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED) return system_error("cannot map", name, errno);
  file.data_ = static_cast<const std::byte*>(p);
  file.size_ = size_bytes;
  file.guarded_ = guard_range(file.bytes(), PROT_READ);
  return file;
}

Result<WritableMapping> WritableMapping::map(int fd, std::uint64_t size_bytes,
                                             const std::string& name) {
  PC_EXPECT(size_bytes > 0);
  void* p = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED) return system_error("cannot map", name, errno);
  return WritableMapping({static_cast<std::byte*>(p), size_bytes});
}

WritableMapping::WritableMapping(std::span<std::byte> bytes)
    : bytes_(bytes), guarded_(guard_range(bytes, PROT_READ | PROT_WRITE)) {}

WritableMapping::~WritableMapping() {
  if (bytes_.empty()) return;
  release_range(guarded_);
  ::munmap(bytes_.data(), bytes_.size());
}

void WritableMapping::protect() const {
  set_protection(guarded_, PROT_READ);
  ::mprotect(bytes_.data(), bytes_.size(), PROT_READ);
}

bool WritableMapping::is_lost() const {
  return pc::is_lost(*guarded_);
}

void MappedFile::let_go() const {
  if (data_) ::madvise(const_cast<std::byte*>(data_), size_, MADV_DONTNEED);
}

void expect_all(std::span<const std::byte> bytes) {
  want_large_pages(bytes);
}

// Asks the kernel to read the pages, without waiting.
void ask_for(std::span<const std::byte> bytes) {
  // A kernel that is asked for more than its read-ahead reads that much and forgets the
  // rest. The read-ahead is 128 KiB where nobody set it.
  constexpr std::size_t kPiece = 128 << 10;
  for (; bytes.size() > kPiece; bytes = bytes.subspan(kPiece))
    advise(bytes.first(kPiece), MADV_WILLNEED);
  advise(bytes, MADV_WILLNEED);
}

void will_need(std::span<const std::byte> bytes) {
  // A kernel that takes this advice (Linux 5.18 and later) reads 2 MiB and more at each
  // fault by itself. ask_for() would make it read small pages, and they would stay small.
  if (!want_large_pages(bytes)) ask_for(bytes);
}

void populate(std::span<const std::byte> bytes) {
#ifdef MADV_POPULATE_READ
  if (advise(bytes, MADV_POPULATE_READ)) return;  // Linux 5.14 and later
#endif
  ask_for(bytes);
}

void read_in_order(int fd) {
#ifdef POSIX_FADV_SEQUENTIAL
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
#endif
}

std::uint64_t machine_memory_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return UINT64_MAX;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
}

bool is_resident(const std::byte* byte) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  unsigned char resident = 1;
  const std::byte* begin = byte - reinterpret_cast<std::uintptr_t>(byte) % page;
  return ::mincore(const_cast<std::byte*>(begin), 1, &resident) != 0 || (resident & 1) != 0;
}

}  // namespace pc
