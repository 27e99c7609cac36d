#include "runtime/packed/packed_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "modules/store/eviction.h"  // unlink_if_unused
#include "modules/store/use_stamp.h"
#include "runtime/packed/packed_file.h"
#include "simd/packed.h"  // kPackVersion

namespace pc {
namespace {

constexpr std::int64_t kUnusedNs = std::int64_t{30} * 24 * 3600 * 1'000'000'000;

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

bool stat_at(int dir_fd, const char* name, struct stat* st) {
  return ::fstatat(dir_fd, name, st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st->st_mode);
}

// The first bytes of a file; zeros where they cannot be read.
PackedHeader read_header(const StoreDir& folder, const std::string& name) {
  PackedHeader header;
  const auto file = open_trusted(folder.objects.get(), name, name, folder.owner);
  if (!file.ok() || ::pread(file->fd.get(), &header, sizeof header, 0) != sizeof header) return {};
  return header;
}

PackedState state_of(const PackedHeader& h) {
  const bool ours = h.magic == kPackedMagic && h.endian == kPackedEndianTag;
  const auto versions = std::pair(h.version, h.pack_version);
  constexpr std::pair kOurs(kPackedFileVersion, simd::kPackVersion);
  if (!ours || versions > kOurs) return PackedState::kOther;
  return versions < kOurs ? PackedState::kOlder : PackedState::kCurrent;
}

// publish_file's temporary names.
bool is_unfinished(std::string_view name) {
  return name.find('.') != name.npos && name.find_first_not_of("0123456789.") == name.npos;
}

// Stamps whose files are gone.
void sweep_used(const StoreDir& folder) {
  struct stat st {};
  (void)for_each_name(folder.used.get(), [&](const char* name) {
    if (from_hex(name) && !stat_at(folder.objects.get(), name, &st))
      ::unlinkat(folder.used.get(), name, 0);
  });
}

}  // namespace

Result<StoreDir> open_packed_folder(const std::string& cache_dir, bool create) {
  StoreDir folder;
  folder.path = cache_dir + "/packed";
  const UniqueFd root(::open(cache_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat st {};
  if (!root || ::fstat(root.get(), &st) != 0) return store_error("cannot open", cache_dir, errno);
  folder.owner = st.st_uid;
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  if (create) ::mkdirat(root.get(), "packed", 0700);
  folder.objects = UniqueFd(::openat(root.get(), "packed", kFlags));
  if (!folder.objects && errno == ENOENT && !create) return folder;
  if (!folder.objects) return store_error("cannot open", folder.path, errno);
  if (create) ::mkdirat(folder.objects.get(), "used", 0700);
  folder.used = UniqueFd(::openat(folder.objects.get(), "used", kFlags));
  folder.writable =
      create && folder.used && ::faccessat(folder.objects.get(), ".", W_OK | X_OK, AT_EACCESS) == 0;
  return folder;
}

std::vector<PackedEntry> list_packed(const StoreDir& folder) {
  std::vector<PackedEntry> entries;
  if (!folder.objects) return entries;
  (void)for_each_name(folder.objects.get(), [&](const char* name) {
    const auto key = from_hex(name);
    struct stat st {};
    if (!key || !stat_at(folder.objects.get(), name, &st)) return;
    const PackedHeader header = read_header(folder, name);
    const PackedState state = state_of(header);
    entries.push_back({{*key},
                       static_cast<std::uint64_t>(st.st_size),
                       last_use_ns(folder, {*key}, st),
                       state,
                       state == PackedState::kCurrent ? header.weights : Digest{}});
  });
  std::ranges::sort(entries, {}, &PackedEntry::key);
  return entries;
}

GcReport collect_packed(const StoreDir& folder) {
  GcReport report;
  if (!folder.writable) return report;
  for (const PackedEntry& entry : list_packed(folder)) {
    const bool wanted =
        now_ns() - entry.last_used_ns >= kUnusedNs || entry.state == PackedState::kOlder;
    const Unlinked done =
        wanted ? unlink_if_unused(folder.objects.get(), entry.key.hex().c_str()) : Unlinked::kNo;
    report.in_use_files += done == Unlinked::kInUse;
    report.removed_files += done == Unlinked::kYes;
    (done == Unlinked::kYes ? report.removed_bytes : report.left_bytes) += entry.file_bytes;
  }
  if (lock_packed(folder, {}).held()) sweep_unfinished(folder);
  sweep_used(folder);
  return report;
}

Status remove_packed(const StoreDir& folder, const ModuleKey& key) {
  const std::string name = key.hex();
  if (!folder.objects) return store_error("cannot remove", folder.path + "/" + name, ENOENT);
  if (::unlinkat(folder.objects.get(), name.c_str(), 0) != 0)
    return store_error("cannot remove", folder.path + "/" + name, errno);
  if (folder.used) ::unlinkat(folder.used.get(), name.c_str(), 0);
  return ok();
}

FileLock lock_packed(const StoreDir& folder, std::chrono::milliseconds patience) {
  return FileLock::acquire(folder.objects.get(), "lock", patience);
}

void sweep_unfinished(const StoreDir& folder) {
  (void)for_each_name(folder.objects.get(), [&](const char* name) {
    if (is_unfinished(name)) unlink_if_unused(folder.objects.get(), name);
  });
}

}  // namespace pc
