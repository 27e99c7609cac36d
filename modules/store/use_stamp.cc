// One small file beside each of a CacheFolder's: its time of modification says when the
// file was last used, its text that the file was verified, as it is now, since this
// machine started.
//
// After a crash or a power failure the text is of another boot, and every file is verified
// once more. Files themselves are never touched, so their status-change time shows any
// change to them. A damaged stamp reads as none: its text must be exactly what the reader
// would write.

#include <fcntl.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/mapped_file.h"  // to_ns
#include "modules/store/cache_folder.h"

namespace pc {
namespace {

// A tick of the slowest kernel clock is 10 ms: a file changed twice within
// one tick shows one time. Files younger than ten ticks get no stamp.
constexpr std::int64_t kSettledNs = 100'000'000;

// Up to n bytes of an open file; empty where there is none.
std::string read_small(const UniqueFd& fd, std::size_t n) {
  if (!fd) return {};
  std::string text(n, '\0');
  const ssize_t got = ::read(fd.get(), text.data(), n);
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return text;
}

// Chosen by the kernel at each start; empty where /proc is missing.
const std::string& boot_id() {
  static const std::string id =
      read_small(UniqueFd(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)), 36);
  return id;
}

std::string stamp_text(const struct stat& file) {
  char text[160];
  const int n = std::snprintf(
      text, sizeof text, "verified boot=%s dev=%llx ino=%llu size=%lld ctime=%lld\n",
      boot_id().c_str(), static_cast<unsigned long long>(file.st_dev),
      static_cast<unsigned long long>(file.st_ino), static_cast<long long>(file.st_size),
      static_cast<long long>(to_ns(file.st_ctim)));
  return std::string(text, static_cast<std::size_t>(std::min<int>(n, sizeof text - 1)));
}

}  // namespace

UniqueFd CacheFolder::open_stamp(const Digest& key) const {
  return UniqueFd(::openat(used_.get(), to_hex(key).c_str(),
                           O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
}

bool CacheFolder::is_verified(const Digest& key, const OpenFile& file) const {
  if (!used_ || boot_id().empty()) return false;
  const std::string expected = stamp_text(file.st), name = to_hex(key);
  const auto stamp = open_trusted(used_.get(), name, name);
  return stamp.ok() && read_small(stamp->fd, expected.size() + 1) == expected;
}

void CacheFolder::mark_verified(const Digest& key, const OpenFile& file) const {
  if (!writable_) return;
  const bool settled = now_ns() - to_ns(file.st.st_ctim) >= kSettledNs;
  if (!used_ || !settled || boot_id().empty()) return mark_used(key);
  const UniqueFd fd = open_stamp(key);
  struct stat st {};
  // A file that has another name, too, was not made as a stamp.
  if (!fd || ::fstat(fd.get(), &st) != 0 || st.st_nlink != 1 || ::ftruncate(fd.get(), 0) != 0)
    return;
  const std::string text = stamp_text(file.st);
  // A failed or torn write leaves a text that matches nothing.
  [[maybe_unused]] const ssize_t n = ::write(fd.get(), text.data(), text.size());
}

Status CacheFolder::verify_once(const Digest& key, const OpenFile& file,
                                FunctionRef<Status()> verify) const {
  if (is_verified(key, file)) {
    mark_used(key);
  } else {
    PC_CHECK_OK(verify());
    mark_verified(key, file);
  }
  return ok();
}

void CacheFolder::mark_used(const Digest& key) const {
  if (!writable_) return;
  const int dir_fd = used_ ? used_.get() : files_.get();
  const std::string name = used_ ? to_hex(key) : name_of(key);
  struct stat st {};
  if (!stat_file(dir_fd, name, &st)) {
    if (used_) open_stamp(key);  // made now
    return;
  }
  const std::chrono::nanoseconds since(std::abs(now_ns() - to_ns(st.st_mtim)));
  if (since >= tenant_.use_grain) ::utimensat(dir_fd, name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

// The later of the file's making and its last use.
std::int64_t CacheFolder::last_use_ns(const Digest& key, const struct stat& file) const {
  struct stat used {};
  const bool has_stamp = used_ && stat_file(used_.get(), to_hex(key), &used);
  return std::max(to_ns(file.st_mtim), has_stamp ? to_ns(used.st_mtim) : 0);
}

}  // namespace pc
