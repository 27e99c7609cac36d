#include "modules/store/cache_folder.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/mapped_file.h"  // to_ns

namespace pc {
namespace {

bool may_write(const UniqueFd& folder) {
  return ::faccessat(folder.get(), ".", W_OK | X_OK, AT_EACCESS) == 0;
}

}  // namespace

Result<CacheFolder> CacheFolder::open(const std::string& cache_dir, const CacheTenant& tenant,
                                      CacheAccess access) {
  CacheFolder folder;
  folder.tenant_ = tenant;
  folder.cache_dir_ = cache_dir;
  const bool make = access >= CacheAccess::kMakeFolders;
  PC_TRY(const UniqueFd root, open_root(cache_dir, access == CacheAccess::kMakeAll));
  auto files = open_below(root, cache_dir, tenant.files, make);
  if (!files.ok() && !make && files.error().code == Code::kNotFound) return folder;
  PC_TRY(folder.files_, std::move(files));

  // True where the tenant has no such folder.
  const auto open_other = [&](std::string_view path, UniqueFd* fd) {
    if (path.empty()) return true;
    auto opened = open_below(root, cache_dir, path, make);
    if (!opened.ok()) {
      folder.why_not_writable_ = std::move(opened).error().message;
      return false;
    }
    *fd = std::move(opened).value();
    return true;
  };
  const bool has_used = open_other(tenant.used, &folder.used_);
  // Without the folder of an older version, nothing is pinned.
  const bool has_pins = open_other(tenant.pins, &folder.pins_) || !make;
  if (access == CacheAccess::kRead) {
    folder.why_not_writable_.clear();
  } else if (!may_write(folder.files_)) {
    folder.why_not_writable_ = system_error("cannot write to", cache_dir, errno).message;
  } else {
    folder.writable_ = open_other(tenant.locks, &folder.locks_) &&
                       open_other(tenant.quarantine, &folder.quarantine_) &&
                       open_other(tenant.tmp, &folder.tmp_) && has_used && has_pins;
  }
  if (folder.writable_) folder.why_not_writable_.clear();
  return folder;
}

std::string CacheFolder::name_of(const Digest& key) const {
  return to_hex(key).append(tenant_.suffix);
}

std::string CacheFolder::path_of(const Digest& key) const {
  return cache_dir_ + "/" + std::string(tenant_.files) + "/" + name_of(key);
}

std::string CacheFolder::lock_path() const {
  return cache_dir_ + "/" + std::string(tenant_.locks);
}

// Nothing but what name_of gives is a key.
std::optional<Digest> CacheFolder::key_of(std::string_view name) const {
  if (!name.ends_with(tenant_.suffix)) return std::nullopt;
  return from_hex(name.substr(0, name.size() - tenant_.suffix.size()));
}

Result<OpenFile> CacheFolder::open_file(const Digest& key) const {
  if (!files_) return system_error("cannot open", path_of(key), ENOENT);
  PC_TRY(OpenFile file, open_trusted(files_.get(), name_of(key), path_of(key)));
  // Says "in use" to eviction. Without it a file in use may lose its name,
  // which harms nobody, so failure is no error.
  ::flock(file.fd.get(), LOCK_SH | LOCK_NB);
  return file;
}

FileLock CacheFolder::lock(const std::string& name, std::chrono::milliseconds patience) const {
  return writable_ ? FileLock::acquire(locks_.get(), name.c_str(), patience) : FileLock();
}

Status CacheFolder::for_each_file(
    FunctionRef<void(const Digest&, const struct stat&)> visit) const {
  if (!files_) return ok();
  return for_each_name(files_.get(), [&](const char* name) {
    struct stat st {};
    const auto key = key_of(name);
    if (key && stat_file(files_.get(), name, &st)) visit(*key, st);
  });
}

Result<std::vector<CacheEntry>> CacheFolder::list() const {
  std::vector<CacheEntry> entries;
  PC_CHECK_OK(for_each_file([&](const Digest& key, const struct stat& st) {
    entries.push_back({key, static_cast<std::uint64_t>(st.st_size), to_ns(st.st_mtim),
                       last_use_ns(key, st), is_pinned(key)});
  }));
  std::ranges::sort(entries, {}, &CacheEntry::key);
  return entries;
}

Status CacheFolder::check_writable() const {
  if (!files_ || writable_) return ok();
  return error(Code::kIo, "the store " + cache_dir_ + " is read-only");
}

bool CacheFolder::is_pinned(const Digest& key) const {
  struct stat st {};
  return pins_ && stat_file(pins_.get(), to_hex(key), &st);
}

Status CacheFolder::pin(const Digest& key) const {
  PC_CHECK_OK(check_writable());
  struct stat st {};
  if (!files_ || !stat_file(files_.get(), name_of(key), &st))
    return system_error("cannot pin", path_of(key), ENOENT);
  const std::string name = to_hex(key);
  const UniqueFd fd(::openat(pins_.get(), name.c_str(),
                             O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (fd) return ok();
  return error(Code::kIo, system_error("cannot pin", path_of(key), errno).message);
}

Status CacheFolder::unpin(const Digest& key) const {
  PC_CHECK_OK(check_writable());
  if (is_pinned(key) && ::unlinkat(pins_.get(), to_hex(key).c_str(), 0) == 0) return ok();
  return is_pinned(key) ? system_error("cannot unpin", path_of(key), errno)
                        : error(Code::kNotFound, path_of(key) + " is not pinned");
}

Status CacheFolder::remove(const Digest& key) const {
  PC_CHECK_OK(check_writable());
  const std::string name = name_of(key), stamp = to_hex(key);  // nothing fails behind the removal
  if (!files_ || ::unlinkat(files_.get(), name.c_str(), 0) != 0)
    return system_error("cannot remove", path_of(key), files_ ? errno : ENOENT);
  if (used_) ::unlinkat(used_.get(), stamp.c_str(), 0);
  if (pins_) ::unlinkat(pins_.get(), stamp.c_str(), 0);
  return ok();
}

// Kept for whoever wants to know. The newest replaces an older one, so a key takes at
// most twice its space. If the name means another file by now, someone was faster.
bool CacheFolder::set_aside(const Digest& key, const OpenFile& bad) const {
  const std::string name = name_of(key);
  struct stat now {};
  if (!writable_ || !stat_file(files_.get(), name, &now)) return false;
  if (now.st_ino != bad.st.st_ino || now.st_dev != bad.st.st_dev) return false;
  return ::renameat(files_.get(), name.c_str(), quarantine_.get(), name.c_str()) == 0;
}

}  // namespace pc
