#include "modules/store/use_stamp.h"

#include <fcntl.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace pc {
namespace {

// A tick of the slowest kernel clock is 10 ms: a file changed twice within
// one tick shows one time. Objects younger than ten ticks get no stamp.
constexpr std::int64_t kSettledNs = 100'000'000;
// Last use is a clock for eviction, not a log: fine enough to order by, and
// a busy store writes next to nothing.
constexpr std::int64_t kUseGrainNs = 60'000'000'000;

std::int64_t to_ns(const timespec& t) {
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return to_ns(now);
}

// Up to n bytes of a small file; empty where there is none.
std::string read_small(int dir_fd, const char* name, std::size_t n) {
  const UniqueFd fd(::openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return {};
  std::string text(n, '\0');
  const ssize_t got = ::read(fd.get(), text.data(), n);
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return text;
}

// Chosen by the kernel at each start; empty where /proc is missing.
const std::string& boot_id() {
  static const std::string id = read_small(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 36);
  return id;
}

std::string stamp_text(const struct stat& object) {
  char text[160];
  const int n = std::snprintf(
      text, sizeof text, "verified boot=%s dev=%llx ino=%llu size=%lld ctime=%lld\n",
      boot_id().c_str(), static_cast<unsigned long long>(object.st_dev),
      static_cast<unsigned long long>(object.st_ino), static_cast<long long>(object.st_size),
      static_cast<long long>(to_ns(object.st_ctim)));
  return std::string(text, static_cast<std::size_t>(std::min<int>(n, sizeof text - 1)));
}

UniqueFd open_stamp(const StoreDir& dir, const ModuleKey& key) {
  return UniqueFd(::openat(dir.used.get(), key.hex().c_str(),
                           O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
}

}  // namespace

bool is_verified(const StoreDir& dir, const ModuleKey& key, const struct stat& object) {
  if (!dir.used || boot_id().empty()) return false;
  const std::string expected = stamp_text(object);
  return read_small(dir.used.get(), key.hex().c_str(), expected.size() + 1) == expected;
}

void mark_verified(const StoreDir& dir, const ModuleKey& key, const struct stat& object) {
  if (!dir.writable) return;
  if (boot_id().empty() || now_ns() - to_ns(object.st_ctim) < kSettledNs)
    return mark_used(dir, key);
  const UniqueFd fd = open_stamp(dir, key);
  if (!fd || ::ftruncate(fd.get(), 0) != 0) return;
  const std::string text = stamp_text(object);
  // A failed or torn write leaves a text that matches nothing.
  [[maybe_unused]] const ssize_t n = ::write(fd.get(), text.data(), text.size());
}

void mark_used(const StoreDir& dir, const ModuleKey& key) {
  if (!dir.writable) return;
  struct stat used {};
  const bool has_stamp =
      ::fstatat(dir.used.get(), key.hex().c_str(), &used, AT_SYMLINK_NOFOLLOW) == 0;
  if (has_stamp && std::abs(now_ns() - to_ns(used.st_mtim)) < kUseGrainNs) return;
  const UniqueFd fd = open_stamp(dir, key);
  if (fd) ::futimens(fd.get(), nullptr);
}

std::int64_t last_use_ns(const StoreDir& dir, const ModuleKey& key, const struct stat& object) {
  struct stat used {};
  const bool has_stamp =
      dir.used && ::fstatat(dir.used.get(), key.hex().c_str(), &used, AT_SYMLINK_NOFOLLOW) == 0;
  return std::max(to_ns(object.st_mtim), has_stamp ? to_ns(used.st_mtim) : 0);
}

}  // namespace pc
