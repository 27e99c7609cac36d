#include "modules/store/eviction.h"

#include <fcntl.h>
#include <sys/file.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <string>
#include <tuple>

#include "modules/store/file_lock.h"
#include "modules/store/use_stamp.h"

namespace pc {
namespace {

// Longer than any writer takes; a live one also holds a lock.
constexpr std::int64_t kTmpMaxAgeS = 3600;
// Long enough for someone to ask why a module was set aside.
constexpr std::int64_t kQuarantineMaxAgeS = 7 * 24 * 3600;

std::int64_t seconds_since(const timespec& then) {
  return ::time(nullptr) - std::int64_t{then.tv_sec};
}

bool stat_at(int dir_fd, const char* name, struct stat* st) {
  return ::fstatat(dir_fd, name, st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st->st_mode);
}

// Bytes of the files in quarantine, without those that it removes: set aside
// (a rename is a change of status) max_age_s ago or earlier.
std::uint64_t quarantine_bytes(const StoreDir& dir, std::int64_t max_age_s) {
  std::uint64_t bytes = 0;
  (void)for_each_name(dir.quarantine.get(), [&](const char* name) {
    struct stat st {};
    if (!stat_at(dir.quarantine.get(), name, &st)) return;
    if (seconds_since(st.st_ctim) >= max_age_s && ::unlinkat(dir.quarantine.get(), name, 0) == 0)
      return;
    bytes += static_cast<std::uint64_t>(st.st_size);
  });
  return bytes;
}

void sweep_tmp(const StoreDir& dir) {
  (void)for_each_name(dir.tmp.get(), [&](const char* name) {
    struct stat st {};
    if (stat_at(dir.tmp.get(), name, &st) && seconds_since(st.st_mtim) >= kTmpMaxAgeS) {
      unlink_if_unused(dir.tmp.get(), name);
    }
  });
}

// Stamps whose objects are gone.
void sweep_used(const StoreDir& dir) {
  (void)for_each_name(dir.used.get(), [&](const char* name) {
    struct stat st {};
    const auto digest = from_hex(name);
    if (!digest || stat_at(dir.objects.get(), object_name({*digest}).c_str(), &st)) return;
    ::unlinkat(dir.used.get(), name, 0);
  });
}

}  // namespace

Unlinked unlink_if_unused(int dir_fd, const char* name) {
  const UniqueFd fd(::openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  // Held until fd closes: whoever opens the file now maps an orphan, soundly.
  if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return Unlinked::kInUse;
  return ::unlinkat(dir_fd, name, 0) == 0 ? Unlinked::kYes : Unlinked::kNo;
}

Result<std::vector<StoreEntry>> list_objects(const StoreDir& dir) {
  std::vector<StoreEntry> entries;
  if (!dir.objects) return entries;
  PC_CHECK_OK(for_each_name(dir.objects.get(), [&](const char* name) {
    const auto key = key_of_object_name(name);
    struct stat st {};
    if (!key || !stat_at(dir.objects.get(), name, &st)) return;
    entries.push_back({*key, static_cast<std::uint64_t>(st.st_size), last_use_ns(dir, *key, st)});
  }));
  std::sort(entries.begin(), entries.end(),
            [](const StoreEntry& a, const StoreEntry& b) { return a.key < b.key; });
  return entries;
}

std::uint64_t stored_bytes(const StoreDir& dir) {
  std::uint64_t bytes = quarantine_bytes(dir, std::numeric_limits<std::int64_t>::max());
  const auto entries = list_objects(dir);
  if (!entries.ok()) return bytes;
  for (const StoreEntry& entry : *entries) bytes += entry.file_bytes;
  return bytes;
}

Result<GcReport> collect(const StoreDir& dir, std::uint64_t target_bytes,
                         std::chrono::milliseconds patience) {
  const FileLock lock = FileLock::acquire(dir.locks.get(), "gc", patience);
  if (lock.state() == LockState::kUnusable)
    return error(Code::kIo, "files cannot be locked in " + dir.path + "/locks");
  if (!lock.held()) return error(Code::kIo, "another process is collecting in " + dir.path);
  PC_TRY(std::vector<StoreEntry> entries, list_objects(dir));
  std::uint64_t objects_bytes = 0;
  for (const StoreEntry& entry : entries) objects_bytes += entry.file_bytes;
  std::uint64_t aside_bytes = quarantine_bytes(dir, kQuarantineMaxAgeS);
  if (objects_bytes + aside_bytes > target_bytes) aside_bytes = quarantine_bytes(dir, 0);

  GcReport report;
  report.left_bytes = objects_bytes + aside_bytes;
  std::sort(entries.begin(), entries.end(), [](const StoreEntry& a, const StoreEntry& b) {
    return std::tie(a.last_used_ns, a.key) < std::tie(b.last_used_ns, b.key);
  });
  for (const StoreEntry& entry : entries) {
    if (report.left_bytes <= target_bytes) break;
    const Unlinked done = unlink_if_unused(dir.objects.get(), object_name(entry.key).c_str());
    if (done == Unlinked::kInUse) ++report.in_use_files;
    if (done != Unlinked::kYes) continue;
    ++report.removed_files;
    report.removed_bytes += entry.file_bytes;
    report.left_bytes -= entry.file_bytes;
  }
  sweep_tmp(dir);
  sweep_used(dir);
  return report;
}

}  // namespace pc
