#include "tests/support/store_faults.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace {

std::string watched;  // set while no other thread makes calls
std::atomic<int> n_calls{0}, first{INT_MAX}, error_number{0}, most{0};
std::atomic<bool> for_ever{false};
std::atomic<const char*> failed{nullptr};
std::atomic<std::uint64_t> spoilt_inode{0};
std::atomic<int> hangs_from{-1};
std::atomic<bool> remote{false}, others{false};

bool is_below(std::string_view path) {
  return !watched.empty() && path.starts_with(watched);
}

bool is_below(int fd) {
  if (watched.empty() || fd < 0) return false;
  std::array<char, 40> link;
  std::array<char, PATH_MAX> path;
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", fd);
  const long n = ::syscall(SYS_readlinkat, AT_FDCWD, link.data(), path.data(), path.size());
  return n > 0 && is_below(std::string_view(path.data(), static_cast<std::size_t>(n)));
}

bool is_below(int dir_fd, const char* path) {
  return path[0] == '/' ? is_below(path) : is_below(dir_fd);
}

// Does this call fail? Sets errno.
bool strikes(bool below, const char* name) {
  if (!below) return false;
  const int call = n_calls++;
  while (hangs_from >= 0 && call >= hangs_from) ::usleep(1000);
  if (call < first || (call > first && !for_ever)) return false;
  const char* none = nullptr;
  failed.compare_exchange_strong(none, name);
  errno = error_number;
  return true;
}

bool is_spoilt(int fd) {
  struct stat st {};
  if (spoilt_inode == 0 || ::syscall(SYS_fstat, fd, &st) != 0 || st.st_ino != spoilt_inode)
    return false;
  errno = EIO;
  return true;
}

std::size_t shortened(bool below, std::size_t n) {
  return below && most > 0 ? std::min(n, static_cast<std::size_t>(most.load())) : n;
}

}  // namespace

namespace pc::test {
void watch_folder(const std::string& path) {
  watched = path;
  n_calls = 0;
  first = INT_MAX;
  failed = nullptr;
  most = 0;
  hangs_from = -1;
}
void hang_from(int call) {
  hangs_from = call;
}
void pretend(bool is_remote, bool is_others) {
  remote = is_remote;
  others = is_others;
}
void fail_from(int call, int errno_value, bool all_after) {
  error_number = errno_value;
  for_ever = all_after;
  first = call;
}
void spoil_file(const std::string& path) {
  struct stat st {};
  spoilt_inode = path.empty() || ::stat(path.c_str(), &st) != 0 ? 0 : st.st_ino;
}
void move_at_most(int n_bytes) {
  most = n_bytes;
}
int n_folder_calls() {
  return n_calls;
}
std::string failed_call() {
  const char* name = failed;
  return name ? name : "";
}
}  // namespace pc::test

// The system's own, with the condition before each. Results are -1 and errno, unless said
// otherwise.
#define PC_CALL(name, below, ...)      \
  if (strikes(below, name)) return -1; \
  return static_cast<int>(::syscall(__VA_ARGS__))

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, int) : 0;
  va_end(rest);
  PC_CALL("open", is_below(path), SYS_openat, AT_FDCWD, path, flags, mode);
}

int openat(int dir_fd, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, int) : 0;
  va_end(rest);
  PC_CALL("openat", is_below(dir_fd, path), SYS_openat, dir_fd, path, flags, mode);
}

int mkdir(const char* path, mode_t mode) noexcept {
  PC_CALL("mkdir", is_below(path), SYS_mkdirat, AT_FDCWD, path, mode);
}

int mkdirat(int dir_fd, const char* path, mode_t mode) noexcept {
  PC_CALL("mkdirat", is_below(dir_fd, path), SYS_mkdirat, dir_fd, path, mode);
}

int fstat(int fd, struct stat* st) noexcept {
  const bool below = is_below(fd);
  if (strikes(below, "fstat")) return -1;
  const int result = static_cast<int>(::syscall(SYS_fstat, fd, st));
  if (below && others) st->st_uid = ::geteuid() + 1;
  return result;
}

int fstatfs(int fd, struct statfs* fs) noexcept {
  constexpr auto kNfs = 0x6969;
  const bool below = is_below(fd);
  if (strikes(below, "fstatfs")) return -1;
  const int result = static_cast<int>(::syscall(SYS_fstatfs, fd, fs));
  if (below && remote) fs->f_type = kNfs;
  return result;
}

int fstatat(int dir_fd, const char* path, struct stat* st, int flags) noexcept {
  PC_CALL("fstatat", is_below(dir_fd, path), SYS_newfstatat, dir_fd, path, st, flags);
}

int ftruncate(int fd, off_t size) noexcept {
  PC_CALL("ftruncate", is_below(fd), SYS_ftruncate, fd, size);
}

int fallocate(int fd, int mode, off_t at, off_t size) {
  PC_CALL("fallocate", is_below(fd), SYS_fallocate, fd, mode, at, size);
}

// Its result is the errno.
int posix_fallocate(int fd, off_t at, off_t size) {
  return fallocate(fd, 0, at, size) == 0 ? 0 : errno;
}

int fdatasync(int fd) {
  PC_CALL("fdatasync", is_below(fd), SYS_fdatasync, fd);
}

int linkat(int from_dir, const char* from, int to_dir, const char* to, int flags) noexcept {
  PC_CALL("linkat", is_below(to_dir, to), SYS_linkat, from_dir, from, to_dir, to, flags);
}

int renameat(int from_dir, const char* from, int to_dir, const char* to) noexcept {
  PC_CALL("renameat", is_below(to_dir, to), SYS_renameat2, from_dir, from, to_dir, to, 0);
}

int renameat2(int from_dir, const char* from, int to_dir, const char* to, unsigned flags) noexcept {
  PC_CALL("renameat2", is_below(to_dir, to), SYS_renameat2, from_dir, from, to_dir, to, flags);
}

int unlinkat(int dir_fd, const char* path, int flags) noexcept {
  PC_CALL("unlinkat", is_below(dir_fd, path), SYS_unlinkat, dir_fd, path, flags);
}

int utimensat(int dir_fd, const char* path, const timespec times[2], int flags) noexcept {
  PC_CALL("utimensat", is_below(dir_fd, path), SYS_utimensat, dir_fd, path, times, flags);
}

int flock(int fd, int operation) noexcept {
  PC_CALL("flock", is_below(fd), SYS_flock, fd, operation);
}

ssize_t read(int fd, void* to, std::size_t n) {
  const bool below = is_below(fd);
  if (strikes(below, "read") || is_spoilt(fd)) return -1;
  return ::syscall(SYS_read, fd, to, shortened(below, n));
}

ssize_t write(int fd, const void* from, std::size_t n) {
  const bool below = is_below(fd);
  if (strikes(below, "write")) return -1;
  return ::syscall(SYS_write, fd, from, shortened(below, n));
}

ssize_t pread(int fd, void* to, std::size_t n, off_t at) {
  const bool below = is_below(fd);
  if (strikes(below, "pread") || is_spoilt(fd)) return -1;
  return ::syscall(SYS_pread64, fd, to, shortened(below, n), at);
}

ssize_t pwrite(int fd, const void* from, std::size_t n, off_t at) {
  const bool below = is_below(fd);
  if (strikes(below, "pwrite")) return -1;
  return ::syscall(SYS_pwrite64, fd, from, shortened(below, n), at);
}

void* mmap(void* at, std::size_t n, int protection, int flags, int fd, off_t offset) noexcept {
  if (strikes(is_below(fd), "mmap")) return MAP_FAILED;
  return reinterpret_cast<void*>(::syscall(SYS_mmap, at, n, protection, flags, fd, offset));
}

dirent* readdir(DIR* stream) {
  static auto* const real = reinterpret_cast<dirent* (*)(DIR*)>(::dlsym(RTLD_NEXT, "readdir"));
  if (strikes(is_below(::dirfd(stream)), "readdir")) return nullptr;
  return real(stream);
}

}  // extern "C"
