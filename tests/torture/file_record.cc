#include "tests/torture/file_record.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>

namespace {

using pc::test::FileOp;
using Kind = FileOp::Kind;

std::string watched;
std::vector<FileOp> ops;
std::map<ino_t, int> file_of;  // the youngest file with this number
std::set<int> mapped;          // to be written
int n_files = 0;

bool recording() {
  return !watched.empty();
}

std::string path_of(int fd) {
  std::array<char, 40> link;
  std::array<char, PATH_MAX> path;
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", fd);
  const long n = ::syscall(SYS_readlinkat, AT_FDCWD, link.data(), path.data(), path.size());
  return std::string(path.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
}

// Below the folder; "" for what is not.
std::string name_of(int dir_fd, const char* path) {
  if (!recording()) return "";
  const std::string full = path[0] == '/' ? path : path_of(dir_fd) + "/" + path;
  return full.starts_with(watched + "/") ? full.substr(watched.size() + 1) : "";
}

ino_t number_of(int fd) {
  struct stat st {};
  return ::syscall(SYS_fstat, fd, &st) == 0 ? st.st_ino : 0;
}

// -1 for a file that was not made below the folder.
int file_at(int fd) {
  if (!recording() || !path_of(fd).starts_with(watched + "/")) return -1;
  const auto it = file_of.find(number_of(fd));
  return it == file_of.end() ? -1 : it->second;
}

void add_made(int fd) {
  ops.push_back({.kind = Kind::kMake, .file = file_of[number_of(fd)] = n_files++});
}

void add(Kind kind, int fd, std::uint64_t at = 0, std::string bytes = {}) {
  if (const int file = file_at(fd); file >= 0)
    ops.push_back({.kind = kind, .file = file, .at = at, .bytes = std::move(bytes)});
}

// What a mapping holds by now.
void add_mapped(int fd) {
  const int file = file_at(fd);
  struct stat st {};
  if (!mapped.contains(file) || ::syscall(SYS_fstat, fd, &st) != 0) return;
  std::string bytes(static_cast<std::size_t>(st.st_size), '\0');
  if (::syscall(SYS_pread64, fd, bytes.data(), bytes.size(), 0L) == st.st_size)
    add(Kind::kWrite, fd, 0, std::move(bytes));
}

int open_recorded(int dir_fd, const char* path, int flags, int mode) {
  const std::string name = name_of(dir_fd, path);
  const bool anonymous = (flags & O_TMPFILE) == O_TMPFILE;
  const bool makes =
      !name.empty() &&
      (anonymous || ((flags & O_CREAT) != 0 && ::syscall(SYS_faccessat, dir_fd, path, F_OK) != 0));
  const int fd = static_cast<int>(::syscall(SYS_openat, dir_fd, path, flags, mode));
  if (fd < 0 || !makes) return fd;
  add_made(fd);
  if (!anonymous) ops.push_back({.kind = Kind::kLink, .file = n_files - 1, .name = name});
  return fd;
}

int mode_of(int flags, va_list rest) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, int) : 0;
}

int record_if_done(long result, FileOp op) {
  if (result == 0 && !op.name.empty()) ops.push_back(std::move(op));
  return static_cast<int>(result);
}

}  // namespace

namespace pc::test {
void record_folder(const std::string& path) {
  if (!path.empty()) {
    ops.clear();
    file_of.clear();
    mapped.clear();
    n_files = 0;
  }
  watched = path;
}
const std::vector<FileOp>& recorded() {
  return ops;
}
}  // namespace pc::test

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int mode = mode_of(flags, rest);
  va_end(rest);
  return open_recorded(AT_FDCWD, path, flags, mode);
}

int openat(int dir_fd, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int mode = mode_of(flags, rest);
  va_end(rest);
  return open_recorded(dir_fd, path, flags, mode);
}

int mkdirat(int dir_fd, const char* path, mode_t mode) noexcept {
  return record_if_done(::syscall(SYS_mkdirat, dir_fd, path, mode),
                        {.kind = Kind::kMakeFolder, .name = name_of(dir_fd, path)});
}

int mkdir(const char* path, mode_t mode) noexcept {
  return mkdirat(AT_FDCWD, path, mode);
}

int ftruncate(int fd, off_t size) noexcept {
  const long result = ::syscall(SYS_ftruncate, fd, size);
  if (result == 0) add(Kind::kResize, fd, static_cast<std::uint64_t>(size));
  return static_cast<int>(result);
}

int fallocate(int fd, int mode, off_t at, off_t size) {
  const long result = ::syscall(SYS_fallocate, fd, mode, at, size);
  if (result == 0) add(Kind::kReserve, fd, static_cast<std::uint64_t>(at + size));
  return static_cast<int>(result);
}

// Its result is the errno.
int posix_fallocate(int fd, off_t at, off_t size) {
  return fallocate(fd, 0, at, size) == 0 ? 0 : errno;
}

int fdatasync(int fd) {
  if (recording()) add_mapped(fd);
  const long result = ::syscall(SYS_fdatasync, fd);
  if (result == 0) add(Kind::kSync, fd);
  return static_cast<int>(result);
}

// `from` is a name, or /proc/self/fd/N.
int linkat(int from_dir, const char* from, int to_dir, const char* to, int flags) noexcept {
  constexpr std::string_view kSelf = "/proc/self/fd/";
  const std::string name = name_of(to_dir, to);
  int file = -1;
  if (!name.empty() && std::string_view(from).starts_with(kSelf)) {
    const int fd = std::atoi(from + kSelf.size());
    add_mapped(fd);
    file = file_at(fd);
  } else if (!name.empty()) {
    struct stat st {};
    if (::syscall(SYS_newfstatat, from_dir, from, &st, AT_SYMLINK_NOFOLLOW) == 0)
      file = file_of[st.st_ino];
  }
  return record_if_done(::syscall(SYS_linkat, from_dir, from, to_dir, to, flags),
                        {.kind = Kind::kLink, .file = file, .name = name});
}

int renameat2(int from_dir, const char* from, int to_dir, const char* to, unsigned flags) noexcept {
  return record_if_done(
      ::syscall(SYS_renameat2, from_dir, from, to_dir, to, flags),
      {.kind = Kind::kRename, .name = name_of(from_dir, from), .to = name_of(to_dir, to)});
}

int renameat(int from_dir, const char* from, int to_dir, const char* to) noexcept {
  return renameat2(from_dir, from, to_dir, to, 0);
}

int unlinkat(int dir_fd, const char* path, int flags) noexcept {
  return record_if_done(::syscall(SYS_unlinkat, dir_fd, path, flags),
                        {.kind = Kind::kUnlink, .name = name_of(dir_fd, path)});
}

ssize_t pwrite(int fd, const void* from, std::size_t n, off_t at) {
  const ssize_t done = ::syscall(SYS_pwrite64, fd, from, n, at);
  if (done > 0)
    add(Kind::kWrite, fd, static_cast<std::uint64_t>(at),
        std::string(static_cast<const char*>(from), static_cast<std::size_t>(done)));
  return done;
}

ssize_t write(int fd, const void* from, std::size_t n) {
  const off_t at = ::lseek(fd, 0, SEEK_CUR);
  const ssize_t done = ::syscall(SYS_write, fd, from, n);
  if (done > 0 && at >= 0)
    add(Kind::kWrite, fd, static_cast<std::uint64_t>(at),
        std::string(static_cast<const char*>(from), static_cast<std::size_t>(done)));
  return done;
}

void* mmap(void* at, std::size_t n, int protection, int flags, int fd, off_t offset) noexcept {
  void* const result =
      reinterpret_cast<void*>(::syscall(SYS_mmap, at, n, protection, flags, fd, offset));
  if (result != MAP_FAILED && (protection & PROT_WRITE) != 0 && (flags & MAP_SHARED) != 0)
    if (const int file = fd >= 0 ? file_at(fd) : -1; file >= 0) mapped.insert(file);
  return result;
}

}  // extern "C"
