#include "modules/store/file_access.h"

#include <dirent.h>
#include <fcntl.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>

#include "base/mapped_file.h"  // to_ns

namespace pc {
namespace {

// How often what a signal or a bad moment has ended is tried again, at most.
constexpr int kMostTries = 8;

// For a folder that is missing because it could not be made, the error says why that was.
Result<UniqueFd> open_folder(int parent, const std::string& name, const std::string& path,
                             bool make, int flags, Whose whose) {
  const int not_made = make && ::mkdirat(parent, name.c_str(), 0700) != 0 ? errno : 0;
  UniqueFd fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags));
  if (!fd)
    return system_error("cannot open", path, errno == ENOENT && not_made != 0 ? not_made : errno);
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return system_error("cannot stat", path, errno);
  if (whose == Whose::kTrusted) PC_CHECK_OK(check_trust(st, path));
  return fd;
}

}  // namespace

Status check_trust(const struct stat& st, const std::string& path) {
  if (st.st_uid != ::geteuid() && st.st_uid != 0)
    return error(Code::kIo,
                 path + " belongs to another user (" + std::to_string(st.st_uid) + "), not to you");
  if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return error(Code::kIo, path + " may be written by other users (chmod go-w forbids it)");
  return ok();
}

Error system_error(const std::string& what, const std::string& path, int errno_value) {
  // Not strerror: several threads may fail at once.
  return error(errno_value == ENOENT ? Code::kNotFound : Code::kIo,
               what + " " + path + ": " + std::generic_category().message(errno_value));
}

Result<UniqueFd> open_root(const std::string& path, bool make, Whose whose) {
  for (std::size_t at = path.find('/', 1); make && at != path.npos; at = path.find('/', at + 1))
    ::mkdir(path.substr(0, at).c_str(), 0700);
  return open_folder(AT_FDCWD, path, path, make, 0, whose);
}

Result<UniqueFd> open_below(const UniqueFd& root, const std::string& root_path,
                            std::string_view path, bool make, Whose whose) {
  const std::string full = root_path + "/" + std::string(path);
  const std::size_t cut = path.rfind('/');
  if (cut == path.npos)
    return open_folder(root.get(), std::string(path), full, make, O_NOFOLLOW, whose);
  PC_TRY(const UniqueFd parent, open_below(root, root_path, path.substr(0, cut), make, whose));
  return open_folder(parent.get(), std::string(path.substr(cut + 1)), full, make, O_NOFOLLOW,
                     whose);
}

Result<OpenFile> open_regular(int dir_fd, const std::string& name, const std::string& path) {
  OpenFile file;
  // O_NONBLOCK: a FIFO under this name must not hang us; files ignore it.
  file.fd =
      UniqueFd(::openat(dir_fd, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.fd) return system_error("cannot open", path, errno);
  if (::fstat(file.fd.get(), &file.st) != 0) return system_error("cannot stat", path, errno);
  if (!S_ISREG(file.st.st_mode)) return error(Code::kIo, path + " is not a regular file");
  return file;
}

Result<OpenFile> open_trusted(int dir_fd, const std::string& name, const std::string& path) {
  PC_TRY(OpenFile file, open_regular(dir_fd, name, path));
  PC_CHECK_OK(check_trust(file.st, path));
  return file;
}

bool stat_file(int dir_fd, const std::string& name, struct stat* st) {
  return ::fstatat(dir_fd, name.c_str(), st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st->st_mode);
}

Status for_each_name(int dir_fd, FunctionRef<void(const char*)> visit) {
  return for_each_name(dir_fd, [&](const char* name, ino_t) { visit(name); });
}

Status for_each_name(int dir_fd, FunctionRef<void(const char*, ino_t)> visit) {
  // A new description: readdir moves a position that must not be shared.
  const int fd = ::openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return system_error("cannot list", "the store", errno);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(fd), &::closedir);
  if (!stream) {
    ::close(fd);
    return error(Code::kOutOfMemory, "no memory to list the store");
  }
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (!entry && errno != 0) return system_error("cannot list", "the store", errno);
    if (!entry) return ok();
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") visit(entry->d_name, entry->d_ino);
  }
}

Status read_exactly(int fd, std::uint64_t offset, std::span<std::byte> buffer) {
  int n_failed = 0;
  while (!buffer.empty()) {
    const ssize_t n = ::pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(offset));
    if (n < 0 && ++n_failed < kMostTries) continue;
    if (n < 0) return error(Code::kIo, system_error("cannot read", "the payload", errno).message);
    if (n == 0) return error(Code::kCorrupt, "damaged file: it ends too early");
    n_failed = 0;
    offset += static_cast<std::uint64_t>(n);
    buffer = buffer.subspan(static_cast<std::size_t>(n));
  }
  return ok();
}

int write_all(int fd, std::uint64_t offset, std::span<const std::byte> bytes) {
  // One call transfers at most 2 GiB; smaller pieces let a signal through.
  constexpr std::size_t kPiece = 16 << 20;
  int n_failed = 0;
  while (!bytes.empty()) {
    const ssize_t n =
        ::pwrite(fd, bytes.data(), std::min(bytes.size(), kPiece), static_cast<off_t>(offset));
    const int failure = n < 0 ? errno : EIO;  // a call that writes nothing says not why
    if (n <= 0 && (failure == EINTR || n == 0) && ++n_failed < kMostTries) continue;
    if (n <= 0) return failure;
    n_failed = 0;
    offset += static_cast<std::uint64_t>(n);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return 0;
}

int reserve(int fd, std::uint64_t n_bytes) {
  int failure = EINTR;
  for (int i = 0; i < kMostTries && failure == EINTR; ++i)
    failure = ::posix_fallocate(fd, 0, static_cast<off_t>(n_bytes));
  return failure;
}

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return to_ns(now);
}

}  // namespace pc
