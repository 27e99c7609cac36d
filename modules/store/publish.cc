#include "modules/store/publish.h"

#include <fcntl.h>
#include <linux/fs.h>  // RENAME_NOREPLACE
#include <sys/file.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string>

namespace pc {
namespace {

constexpr mode_t kObjectMode = 0400;

// 0 or an errno. The space is taken first, so that a full disk shows before
// anything is written.
int fill(int fd, const NewFile& file, Durability durability) {
  int failure;
  do {
    failure = ::posix_fallocate(fd, 0, static_cast<off_t>(file.bytes));
  } while (failure == EINTR);
  // EOPNOTSUPP, EINVAL: this file system cannot; the writing will tell.
  if (failure != 0 && failure != EOPNOTSUPP && failure != EINVAL) return failure;
  if ((failure = file.write(fd)) != 0) return failure;
  if (durability == Durability::kData && ::fdatasync(fd) != 0) return errno;
  return 0;
}

int link_anonymous(int fd, int dir_fd, const char* name) {
  const std::string self = "/proc/self/fd/" + std::to_string(fd);
  return ::linkat(AT_FDCWD, self.c_str(), dir_fd, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

int rename_no_replace(int from_dir, const char* from, int to_dir, const char* to) {
  if (::syscall(SYS_renameat2, from_dir, from, to_dir, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  // Not here (NFS, old kernels): a second link is as atomic.
  const int failure = ::linkat(from_dir, from, to_dir, to, 0) == 0 ? 0 : errno;
  if (failure == 0) ::unlinkat(from_dir, from, 0);
  return failure;
}

// Two writers with one name are next to impossible, and O_EXCL tells.
std::string temporary_name() {
  static std::atomic<std::uint64_t> count{0};
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::to_string(::getpid()) + "." + std::to_string(now.tv_nsec) + "." +
         std::to_string(count++);
}

// 0 or an errno; ENOTSUP where the kernel or the file system has no anonymous files.
int publish_anonymous(const NewFile& file, Durability durability) {
  const UniqueFd fd(::openat(file.dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, kObjectMode));
  if (!fd) return errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL ? ENOTSUP : errno;
  if (const int failure = fill(fd.get(), file, durability)) return failure;
  const int failure = link_anonymous(fd.get(), file.dir_fd, file.name.c_str());
  return failure == ENOENT ? ENOTSUP : failure;  // no /proc here
}

int publish_named(const NewFile& file, Durability durability) {
  const std::string temporary = temporary_name();
  const UniqueFd fd(::openat(file.tmp_fd, temporary.c_str(),
                             O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, kObjectMode));
  if (!fd) return errno == EEXIST ? EAGAIN : errno;
  ::flock(fd.get(), LOCK_EX | LOCK_NB);  // "still being written", to gc
  int failure = fill(fd.get(), file, durability);
  if (failure == 0) {
    // An object's lock says "in use"; ours is over.
    ::flock(fd.get(), LOCK_UN);
    failure = rename_no_replace(file.tmp_fd, temporary.c_str(), file.dir_fd, file.name.c_str());
  }
  if (failure != 0) ::unlinkat(file.tmp_fd, temporary.c_str(), 0);
  return failure;
}

}  // namespace

int write_all(int fd, std::uint64_t offset, std::span<const std::byte> bytes) {
  // One call transfers at most 2 GiB; smaller pieces let a signal through.
  constexpr std::size_t kPiece = 16 << 20;
  while (!bytes.empty()) {
    const ssize_t n =
        ::pwrite(fd, bytes.data(), std::min(bytes.size(), kPiece), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    offset += static_cast<std::uint64_t>(n);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return 0;
}

int publish_file(const NewFile& file, Durability durability, Staging staging) {
  int failure = ENOTSUP;
  if (staging == Staging::kAnonymous) failure = publish_anonymous(file, durability);
  if (failure == ENOTSUP) failure = publish_named(file, durability);
  return failure;
}

Result<Published> publish_bytes(const StoreDir& dir, const ModuleKey& key,
                                std::span<const std::byte> bytes, Durability durability,
                                Staging staging) {
  const NewFile file{dir.objects.get(), dir.tmp.get(), object_name(key), bytes.size(),
                     [bytes](int fd) { return write_all(fd, 0, bytes); }};
  const int failure = publish_file(file, durability, staging);
  switch (failure) {
    case 0:
      return Published::kNew;
    case EEXIST:
      return Published::kExists;
    case ENOSPC:
    case EDQUOT:
      return Published::kNoSpace;
    default:
      return error(
          Code::kIo,
          store_error("cannot write", dir.path + "/objects/" + file.name, failure).message);
  }
}

}  // namespace pc
