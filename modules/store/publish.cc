// How bytes become a file: CacheFolder::publish.

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include <atomic>
#include <cerrno>
#include <cstdio>  // renameat2
#include <string>
#include <utility>

#include "base/progress.h"  // cancelled
#include "modules/store/cache_folder.h"

namespace pc {
namespace {

constexpr mode_t kFileMode = 0400;
// That are tried for a temporary file. Somebody who sweeps without a pause on a busy machine took 8
// in a row.
constexpr int kMostNames = 64;

// 0 or an errno. The space is taken first, so that a full disk shows before
// anything is written.
int fill_file(int fd, std::uint64_t n_bytes, FunctionRef<int(int)> write, Durability durability) {
  int failure = reserve(fd, n_bytes);
  // EOPNOTSUPP, EINVAL: this file system cannot, EINTR: signals leave no time; the writing tells.
  if (failure != 0 && failure != EOPNOTSUPP && failure != EINVAL && failure != EINTR)
    return failure;
  if ((failure = write(fd)) != 0) return failure;
  // An error of fdatasync gives the bytes up: it is never tried again.
  if (durability == Durability::kData && ::fdatasync(fd) != 0) return errno;
  return 0;
}

int link_anonymous(int fd, int dir_fd, const char* name) {
  const std::string self = "/proc/self/fd/" + std::to_string(fd);
  return ::linkat(AT_FDCWD, self.c_str(), dir_fd, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

int rename_no_replace(int from_dir, const char* from, int to_dir, const char* to) {
  if (::renameat2(from_dir, from, to_dir, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  // Not here (NFS, old kernels): a second link is as atomic.
  const int failure = ::linkat(from_dir, from, to_dir, to, 0) == 0 ? 0 : errno;
  if (failure == 0) ::unlinkat(from_dir, from, 0);
  return failure;
}

int rename_over(int from_dir, const char* from, int to_dir, const char* to) {
  return ::renameat(from_dir, from, to_dir, to) == 0 ? 0 : errno;
}

// Two writers with one name are next to impossible, and O_EXCL tells.
std::string temporary_name() {
  static std::atomic<std::uint64_t> count{0};
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::to_string(::getpid()) + "." + std::to_string(now.tv_nsec) + "." +
         std::to_string(count++);
}

}  // namespace

// 0 or an errno; ENOTSUP where the kernel or the file system has no anonymous files.
int CacheFolder::publish_anonymous(const std::string& name, FunctionRef<int(int)> fill) const {
  const UniqueFd fd(::openat(files_.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, kFileMode));
  if (!fd) return errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL ? ENOTSUP : errno;
  if (const int failure = fill(fd.get())) return failure;
  const int failure = link_anonymous(fd.get(), files_.get(), name.c_str());
  return failure == ENOENT ? ENOTSUP : failure;  // no /proc here
}

// 0 or an errno; EAGAIN where another name is to be tried. As long as the descriptor is open, its
// lock says to who sweeps that the file is still wanted. Whoever swept before the lock was taken
// has unlinked it.
int CacheFolder::open_temporary(const std::string& name, UniqueFd* fd) const {
  *fd = UniqueFd(::openat(tmp_.get(), name.c_str(),
                          O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, kFileMode));
  if (!*fd) return errno == EEXIST ? EAGAIN : errno;
  if (::flock(fd->get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return EAGAIN;
  struct stat st {};
  return ::fstat(fd->get(), &st) != 0 || st.st_nlink == 0 ? EAGAIN : 0;
}

// As open_temporary.
int CacheFolder::try_named(const std::string& name, Target target,
                           FunctionRef<int(int)> fill) const {
  const std::string temporary = temporary_name();
  UniqueFd fd;
  if (const int failure = open_temporary(temporary, &fd)) return failure;
  int failure = fill(fd.get());
  if (failure == 0)
    failure = target == Target::kFree
                  ? rename_no_replace(tmp_.get(), temporary.c_str(), files_.get(), name.c_str())
                  : rename_over(tmp_.get(), temporary.c_str(), files_.get(), name.c_str());
  if (failure != 0) ::unlinkat(tmp_.get(), temporary.c_str(), 0);
  ::flock(fd.get(), LOCK_UN);  // a file's lock says "in use"; a forked child would keep ours
  return failure;
}

// 0 or an errno.
int CacheFolder::publish_named(const std::string& name, Target target,
                               FunctionRef<int(int)> fill) const {
  int failure = EAGAIN;
  for (int i = 0; i < kMostNames && failure == EAGAIN; ++i) failure = try_named(name, target, fill);
  return failure;
}

// A sparse file: its length is the promise, and nothing is written.
Result<CacheRoom> CacheFolder::promise(std::uint64_t n_bytes) const {
  std::string name;
  UniqueFd locked, tmp(::fcntl(tmp_.get(), F_DUPFD_CLOEXEC, 0));
  int failure = tmp ? EAGAIN : errno;
  for (int i = 0; i < kMostNames && failure == EAGAIN; ++i)
    failure = open_temporary(name = temporary_name(), &locked);
  if (failure != 0)
    return error(Code::kIo, system_error("cannot promise room in", cache_dir_, failure).message);
  CacheRoom room(std::move(tmp), std::move(name), std::move(locked));
  if (::ftruncate(room.fd(), static_cast<off_t>(n_bytes)) == 0) return room;
  return error(Code::kIo, system_error("cannot promise room in", cache_dir_, errno).message);
}

Result<Published> CacheFolder::publish(const Digest& key, std::uint64_t n_bytes,
                                       FunctionRef<int(int)> write, Durability durability,
                                       Staging staging) const {
  const auto fill = [&](int fd) { return fill_file(fd, n_bytes, write, durability); };
  int failure = ENOTSUP;
  if (staging == Staging::kAnonymous) failure = publish_anonymous(name_of(key), fill);
  if (failure == ENOTSUP) failure = publish_named(name_of(key), Target::kFree, fill);
  return published(key, failure);
}

Status CacheFolder::replace(const Digest& key, std::span<const std::byte> bytes) const {
  const auto write = [bytes](int fd) { return write_all(fd, 0, bytes); };
  const auto fill = [&](int fd) { return fill_file(fd, bytes.size(), write, Durability::kNone); };
  PC_TRY(const Published done, published(key, publish_named(name_of(key), Target::kAny, fill)));
  if (done == Published::kNew) return ok();
  return error(Code::kIo, "cannot write " + path_of(key) + ": no space is left");
}

std::shared_ptr<CacheDraft> CacheFolder::draft(std::uint64_t n_bytes, CacheRoom room) const {
  if (!writable_) return nullptr;
  UniqueFd fd(::openat(files_.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, kFileMode));
  // Not posix_fallocate, which would write zeros where space cannot be reserved.
  if (!fd || ::fallocate(fd.get(), 0, 0, static_cast<off_t>(n_bytes)) != 0) return nullptr;
  auto mapping = WritableMapping::map(fd.get(), n_bytes, "a new file of the cache");
  if (!mapping.ok()) return nullptr;
  return std::make_shared<CacheDraft>(std::move(fd), std::move(mapping).value(), std::move(room));
}

Result<Published> CacheFolder::publish(const Digest& key, CacheDraft& draft,
                                       Durability durability) const {
  PC_CHECK_OK(draft.check());
  if (durability == Durability::kData && ::fdatasync(draft.fd()) != 0) return published(key, errno);
  const int failure = link_anonymous(draft.fd(), files_.get(), name_of(key).c_str());
  if (failure == ENOENT)  // no /proc here
    return publish(key, std::as_const(draft).bytes(), durability, Staging::kNamed);
  if (failure == 0) draft.release_room();
  return published(key, failure);
}

// What came of it: 0 or an errno.
Result<Published> CacheFolder::published(const Digest& key, int failure) const {
  switch (failure) {
    case 0:
      return Published::kNew;
    case EEXIST:
      return Published::kExists;
    case ENOSPC:
    case EDQUOT:
      return Published::kNoSpace;
    case ECANCELED:
      return cancelled();
    default:
      return error(Code::kIo, system_error("cannot write", path_of(key), failure).message);
  }
}

Result<Published> CacheFolder::publish(const Digest& key, std::span<const std::byte> bytes,
                                       Durability durability, Staging staging) const {
  const auto write = [bytes](int fd) { return write_all(fd, 0, bytes); };
  return publish(key, bytes.size(), write, durability, staging);
}

}  // namespace pc
