// How a cache gets smaller: what CacheFolder evicts and sweeps.
//
// Stopping at any instant leaves nothing to repair. Nothing is ever truncated, so even a
// reader without a lock keeps its mapping.

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/mapped_file.h"  // to_ns
#include "modules/store/cache_folder.h"

namespace pc {
namespace {

using std::chrono::seconds;

// Longer than any writer takes: for where files cannot be locked.
constexpr seconds kUnfinishedAge = std::chrono::hours(1);
// Long enough for someone to ask why a file was set aside.
constexpr seconds kQuarantineAge = std::chrono::hours(7 * 24);
constexpr seconds kUnusedAge = std::chrono::hours(30 * 24);
// So many take milliseconds to list; this part of the budget is then left free.
constexpr std::size_t kManyFiles = 1024, kManyFilesRest = 64;

// What has a time in the future is young.
seconds age_of(std::int64_t since_ns) {
  return seconds(std::max<std::int64_t>(0, now_ns() - since_ns) / 1'000'000'000);
}

// Names that publish gives: digits and dots. An older version put the key before them.
bool is_unfinished(std::string_view name) {
  if (from_hex(name.substr(0, 2 * sizeof(Digest)))) name.remove_prefix(2 * sizeof(Digest));
  return name.find('.') != name.npos && name.find_first_not_of("0123456789.") == name.npos;
}

enum class Unlinked { kYes, kInUse, kNo };

// Unlinks a name in an open folder unless someone holds a lock on its file.
Unlinked unlink_if_unused(int dir_fd, const std::string& name) {
  const UniqueFd fd(::openat(dir_fd, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return Unlinked::kNo;  // nobody knows whether it is in use
  // Held until fd closes: whoever opens the file now maps an orphan, soundly.
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return Unlinked::kInUse;
  return ::unlinkat(dir_fd, name.c_str(), 0) == 0 ? Unlinked::kYes : Unlinked::kNo;
}

}  // namespace

// Bytes of the files in quarantine, without those that it removes: set aside
// (a rename is a change of status) max_age ago or earlier.
std::uint64_t CacheFolder::quarantine_bytes(seconds max_age) const {
  std::uint64_t bytes = 0;
  if (!quarantine_) return bytes;
  (void)for_each_name(quarantine_.get(), [&](const char* name) {
    struct stat st {};
    if (!stat_file(quarantine_.get(), name, &st)) return;
    if (age_of(to_ns(st.st_ctim)) >= max_age && ::unlinkat(quarantine_.get(), name, 0) == 0) return;
    bytes += static_cast<std::uint64_t>(st.st_size);
  });
  return bytes;
}

void CacheFolder::for_each_unfinished(
    FunctionRef<void(const char*, const struct stat&)> visit) const {
  const bool own_folder = tenant_.tmp != tenant_.files;
  if (!tmp_) return;
  (void)for_each_name(tmp_.get(), [&](const char* name) {
    struct stat st {};
    if (!own_folder && !is_unfinished(name)) return;
    if (stat_file(tmp_.get(), name, &st)) visit(name, st);
  });
}

void CacheFolder::sweep_unfinished() const {
  for_each_unfinished([&](const char* name, const struct stat& st) {
    const UniqueFd fd(::openat(tmp_.get(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd) return;
    const bool is_dead = ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0;
    const bool is_old =
        !is_dead && errno != EWOULDBLOCK && age_of(to_ns(st.st_mtim)) >= kUnfinishedAge;
    if (is_dead || is_old) ::unlinkat(tmp_.get(), name, 0);
  });
}

std::uint64_t CacheFolder::unfinished_bytes() const {
  std::uint64_t bytes = 0;
  for_each_unfinished(
      [&](const char*, const struct stat& st) { bytes += static_cast<std::uint64_t>(st.st_size); });
  return bytes;
}

// Stamps whose files are gone.
void CacheFolder::sweep_stamps() const {
  if (!used_) return;
  (void)for_each_name(used_.get(), [&](const char* name) {
    struct stat st {};
    const auto key = from_hex(name);
    if (key && !stat_file(files_.get(), name_of(*key), &st)) ::unlinkat(used_.get(), name, 0);
  });
}

std::uint64_t CacheFolder::finished_bytes() const {
  if (!files_) return 0;
  std::uint64_t n_bytes = 0;
  std::size_t n_files = 0;
  (void)for_each_name(files_.get(), [&](const char* name, ino_t inode) {
    const auto size = [&]() -> std::optional<std::uint64_t> {
      struct stat st {};
      if (!stat_file(files_.get(), name, &st)) return std::nullopt;
      return static_cast<std::uint64_t>(st.st_size);
    };
    const auto key = key_of(name);
    if (key) n_bytes += sizes_->of(*key, inode, size);
    n_files += key.has_value();
  });
  constexpr std::size_t kFewFiles = 1024;
  sizes_->keep_at_most(2 * n_files + kFewFiles);
  return n_bytes;
}

// In the order in which files go from one place to the next, so that none is missed on its way.
std::uint64_t CacheFolder::stored_bytes() const {
  const std::uint64_t unfinished = unfinished_bytes(), finished = finished_bytes();
  return unfinished + finished + quarantine_bytes(seconds::max());
}

// Unless somebody uses it or it is pinned, which is asked again: it may have been since it was
// listed.
void CacheFolder::evict(const CacheEntry& entry, EvictionReport* report) const {
  if (entry.pinned || is_pinned(entry.key)) {
    ++report->pinned_files;
    return;
  }
  const Unlinked done = unlink_if_unused(files_.get(), name_of(entry.key));
  if (done == Unlinked::kInUse) ++report->in_use_files;
  if (done != Unlinked::kYes) return;
  ++report->removed_files;
  report->removed_bytes += entry.file_bytes;
  report->left_bytes -= entry.file_bytes;
}

Result<EvictionReport> CacheFolder::evict_to(std::uint64_t target_bytes,
                                             std::chrono::milliseconds patience, WorthOf worth,
                                             Progress progress) const {
  const FileLock gc = lock("gc", patience);
  if (gc.state() == LockState::kUnusable)
    return error(Code::kIo, "files cannot be locked in " + lock_path());
  if (!gc.held()) return error(Code::kIo, "another process is collecting in " + lock_path());
  return shrink(target_bytes, worth, progress);
}

// Where nobody collects beside us.
Result<EvictionReport> CacheFolder::shrink(std::uint64_t target_bytes, WorthOf worth,
                                           Progress progress) const {
  sweep_unfinished();
  std::uint64_t aside = quarantine_bytes(kQuarantineAge);
  if (stored_bytes() > target_bytes) aside = quarantine_bytes(seconds(0));
  aside += unfinished_bytes();
  PC_TRY(std::vector<CacheEntry> entries, list());
  EvictionReport report;
  for (const CacheEntry& entry : entries) report.left_bytes += entry.file_bytes;
  const std::uint64_t n_files = entries.size();
  EvictionOrder order(std::move(entries), worth, now_ns(), tenant_.use_grain);
  for (std::uint64_t n_seen = 0; report.left_bytes + aside > target_bytes; ++n_seen) {
    const std::optional<CacheEntry> next = order.next();
    if (!next) break;
    if (progress && !progress(n_seen, n_files)) return cancelled();
    evict(*next, &report);
  }
  sweep_stamps();
  report.left_bytes += aside;
  return report;
}

bool CacheFolder::has_room(std::uint64_t n_bytes, std::uint64_t budget_bytes) const {
  return n_bytes <= budget_bytes && stored_bytes() <= budget_bytes - n_bytes;
}

Result<CacheRoom> CacheFolder::reserve(std::uint64_t n_bytes, std::uint64_t budget_bytes,
                                       std::chrono::milliseconds patience, EvictionReport* evicted,
                                       WorthOf worth) const {
  if (!writable_) return error(Code::kIo, "the store " + cache_dir_ + " is read-only");
  if (n_bytes > budget_bytes) return no_room(n_bytes, budget_bytes, stored_bytes());
  // Where there is room, nobody is waited for: whoever collects may be stopped. Of two that promise
  // at once, the later one to look sees both; what goes from tmp to its name is seen once at least.
  // Beside those who sweep, a promise may get no name.
  if (has_room(n_bytes, budget_bytes)) {
    auto room = promise(n_bytes);
    if (room.ok() && has_room(0, budget_bytes)) return room;
  }
  const FileLock gc = lock("gc", patience);
  if (gc.state() == LockState::kBusy)
    return error(Code::kIo, "another process is collecting in " + lock_path());
  // Before anything is evicted: what becomes free is nobody else's.
  PC_TRY(CacheRoom room, promise(n_bytes));
  std::uint64_t used = stored_bytes();
  if (used > budget_bytes) {
    // Of many files some more go: to list them costs as much as several times this file.
    const bool has_many = sizes_->n_files() >= kManyFiles;
    const std::uint64_t more = has_many ? budget_bytes / kManyFilesRest : 0;
    PC_TRY(const EvictionReport report, shrink(budget_bytes - more, worth, {}));
    if (evicted) *evicted = report;
    used = report.left_bytes;
  }
  if (used <= budget_bytes) return room;
  return no_room(n_bytes, budget_bytes, used - n_bytes);
}

Error CacheFolder::no_room(std::uint64_t n_bytes, std::uint64_t budget_bytes,
                           std::uint64_t used) const {
  return error(Code::kBudget, "no room for " + std::to_string(n_bytes) + " bytes in " + cache_dir_ +
                                  ": of the " + std::to_string(budget_bytes) +
                                  " that it may hold, " + std::to_string(used) +
                                  " are in use, pinned or promised to other files");
}

Result<EvictionReport> CacheFolder::evict_unused(FunctionRef<bool(const Digest&)> outdated) const {
  EvictionReport report;
  if (!writable_) return report;
  sweep_unfinished();
  PC_TRY(const std::vector<CacheEntry> entries, list());
  for (const CacheEntry& entry : entries) report.left_bytes += entry.file_bytes;
  for (const CacheEntry& entry : entries)
    if (age_of(entry.last_used_ns) >= kUnusedAge || (outdated && outdated(entry.key)))
      evict(entry, &report);
  sweep_stamps();
  return report;
}

}  // namespace pc
