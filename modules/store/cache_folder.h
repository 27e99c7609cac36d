// The file cache: a folder of files that are made once, named by what they were made
// from, and used by every thread and process. What is kept between runs is kept by this
// one protocol (docs/adr/0021-one-file-cache.md); each kind of file is a tenant of it.
//
//   <files>/<64 hex><suffix>   0400; the name is the key
//   <used>/<64 hex>            mtime: last use; text: verified in which boot
//   <locks>/                   file locks, empty
//   <quarantine>/              damaged files, set aside
//   <pins>/<64 hex>            empty: the file of this key is never evicted
//   <tmp>/                     unfinished files, where O_TMPFILE is missing; promised room
//
// There is no index: the folder is the truth, so a crash at any instant leaves nothing to
// repair. A file is visible only once it is complete; it is never changed or truncated
// afterwards, only unlinked, so whoever has mapped it keeps it. Names of users never reach
// the file system: names are made from keys, folders are held open and files are opened
// relative to them, following no link, so that nobody can lead a tenant elsewhere by renaming.
//
// Move-only owner of the open folders. Threads: const methods from any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/hash.h"  // Digest
#include "base/progress.h"
#include "base/status.h"
#include "modules/store/cache_draft.h"
#include "modules/store/cache_room.h"
#include "modules/store/file_access.h"
#include "modules/store/file_lock.h"
#include "modules/store/file_sizes.h"
#include "modules/store/unique_fd.h"

namespace pc {

// Who keeps files, and where: folders below the cache directory. One folder may be several
// of these; "" is none.
struct CacheTenant {
  std::string_view files;
  std::string_view suffix = "";  // of the files' names
  std::string_view used = "";    // none: a use is its file's own mtime, and each one verifies
  std::string_view locks = "";
  std::string_view quarantine = "";
  std::string_view pins = "";  // none: nothing is pinned
  std::string_view tmp = "";
  std::chrono::seconds use_grain{60};  // how often, at most, a use is written down
};

enum class CacheAccess {
  kRead,         // nothing is changed, not even a time of use
  kWrite,        // but no folder is made
  kMakeFolders,  // the tenant's, where missing
  kMakeAll,      // the cache directory, too
};

struct CacheEntry {
  Digest key{};
  std::uint64_t file_bytes = 0;
  std::int64_t last_used_ns = 0;  // since 1970; as fine as the tenant's use_grain
  bool pinned = false;
};

struct EvictionReport {
  std::uint64_t removed_files = 0;
  std::uint64_t removed_bytes = 0;
  std::uint64_t in_use_files = 0;  // wanted, but in use
  std::uint64_t pinned_files = 0;  // wanted, but pinned
  std::uint64_t left_bytes = 0;
};

enum class Durability {
  kNone,  // a power failure may lose or damage new files (damage is detected)
  kData,  // the data is on the disk before the file gets its name
};

enum class Staging {
  kAnonymous,  // O_TMPFILE and linkat; kNamed where the file system has none
  kNamed,      // a file in tmp, then a rename that does not replace
};

enum class Published {
  kNew,
  kExists,   // somebody was first; nothing was changed
  kNoSpace,  // the disk or the quota is full
};

class CacheFolder {
 public:
  CacheFolder() = default;  // without files, not writable

  // Where the folder of files is missing and not to be made, one without files; where it
  // cannot be written, one that is not writable. Errors: kNotFound; kIo, also for folders that
  // are not to be trusted: of anybody but us and root, or that others may write.
  static Result<CacheFolder> open(const std::string& cache_dir, const CacheTenant& tenant,
                                  CacheAccess access);

  bool writable() const { return writable_; }
  // Of one that was to be written and cannot be: the reason, a sentence without its stop.
  const std::string& why_not_writable() const { return why_not_writable_; }
  std::string name_of(const Digest& key) const;  // "<64 hex><suffix>"
  std::string path_of(const Digest& key) const;  // for messages
  std::string lock_path() const;                 // the same

  // A file that may be read, checked for nothing else. Its descriptor says "in use" to
  // eviction, until it and all mappings of it are gone. kNotFound; kIo for what is not to
  // be trusted: anything but a regular file of ours or of root that nobody else may write.
  Result<OpenFile> open_file(const Digest& key) const;

  // Runs `verify`, unless it ran without an error since this machine started and the file
  // is the same since then. Marks the use.
  Status verify_once(const Digest& key, const OpenFile& file, FunctionRef<Status()> verify) const;
  void mark_used(const Digest& key) const;

  // A file that is to be: complete, and of its full size on the disk, before it gets its
  // name, in one step; the first writer wins. `write` writes all bytes to a descriptor and
  // returns 0 or an errno. A crash at any instant leaves nothing or the whole file, and in
  // tmp perhaps an unfinished one. Errors: kIo; kCancelled, where `write` gave ECANCELED.
  Result<Published> publish(const Digest& key, std::uint64_t n_bytes, FunctionRef<int(int)> write,
                            Durability durability, Staging staging = Staging::kAnonymous) const;
  Result<Published> publish(const Digest& key, std::span<const std::byte> bytes,
                            Durability durability, Staging staging = Staging::kAnonymous) const;

  // A small file in the place of the one that has its name, if any, in one step: who opens it finds
  // the one or the other, and a crash at any instant leaves one of them. kIo.
  Status replace(const Digest& key, std::span<const std::byte> bytes) const;

  // A file to be written in place. Its bytes are on the disk already, so that nothing runs out of
  // space later. None where the folder cannot be written, the file system has no such files or
  // cannot reserve, or the disk is full: then the file is made in memory. Keeps its room.
  std::shared_ptr<CacheDraft> draft(std::uint64_t n_bytes, CacheRoom room = {}) const;
  // Gives it its name, as publish() above.
  Result<Published> publish(const Digest& key, CacheDraft& draft, Durability durability) const;

  // kUnusable where nothing may be written.
  FileLock lock(const std::string& name, std::chrono::milliseconds patience) const;

  // Every file, by key. Foreign names, links and pipes are ignored.
  Result<std::vector<CacheEntry>> list() const;
  // With the quarantine, what is unfinished and what is promised; a stamp's block is not counted.
  std::uint64_t stored_bytes() const;

  // Unlinks, also where in use: mappings stay valid. Ends a pin. kNotFound; kIo (read-only).
  Status remove(const Digest& key) const;
  // Moves a file that was found bad out of the way of the next one, into the quarantine,
  // if it still has its name there. Did it?
  bool set_aside(const Digest& key, const OpenFile& bad) const;

  // Until unpin or remove, for every process: whatever file has this key is not evicted. Pinning
  // twice is pinning. Errors: kNotFound, where no file has it or, unpinning, none is pinned; kIo.
  Status pin(const Digest& key) const;
  Status unpin(const Digest& key) const;
  bool is_pinned(const Digest& key) const;

  // Both pass over what any process uses, and sweep what crashes have left. The first
  // unlinks the least recently used until target_bytes are left, the quarantine before all;
  // one process at a time: kIo, if another is still at it after `patience`; kCancelled, where
  // `progress` stops it between two files. The second unlinks what nobody used for 30 days, and
  // what is `outdated`.
  Result<EvictionReport> evict_to(std::uint64_t target_bytes, std::chrono::milliseconds patience,
                                  Progress progress = {}) const;
  Result<EvictionReport> evict_unused(FunctionRef<bool(const Digest&)> outdated = {}) const;
  // Promises room for a file of n_bytes under a budget for all, after evicting as evict_to does
  // where there is none. Evicting is for one process at a time, except where files cannot be
  // locked; where there is room, nobody is waited for. Errors: kBudget, where what is in use and
  // what is promised to others leave too little; kIo, as of evict_to, or where nothing can be
  // promised. Tells what it evicted.
  Result<CacheRoom> reserve(std::uint64_t n_bytes, std::uint64_t budget_bytes,
                            std::chrono::milliseconds patience,
                            EvictionReport* evicted = nullptr) const;
  // What writers left that were killed: a live one holds its file's lock. Where files cannot be
  // locked, what is an hour old.
  void sweep_unfinished() const;

 private:
  int publish_anonymous(const std::string& name, FunctionRef<int(int)> fill) const;
  Result<Published> published(const Digest& key, int failure) const;
  enum class Target { kFree, kAny };
  int publish_named(const std::string& name, Target target, FunctionRef<int(int)> fill) const;
  int try_named(const std::string& name, Target target, FunctionRef<int(int)> fill) const;
  int open_temporary(const std::string& name, UniqueFd* fd) const;
  void for_each_unfinished(FunctionRef<void(const char*, const struct stat&)> visit) const;
  std::uint64_t unfinished_bytes() const;
  Status for_each_file(FunctionRef<void(const Digest&, const struct stat&)> visit) const;
  std::uint64_t finished_bytes() const;
  bool has_room(std::uint64_t n_bytes, std::uint64_t budget_bytes) const;
  Error no_room(std::uint64_t n_bytes, std::uint64_t budget_bytes, std::uint64_t used) const;
  std::optional<Digest> key_of(std::string_view name) const;
  bool is_verified(const Digest& key, const OpenFile& file) const;
  void mark_verified(const Digest& key, const OpenFile& file) const;
  std::int64_t last_use_ns(const Digest& key, const struct stat& file) const;
  UniqueFd open_stamp(const Digest& key) const;
  std::uint64_t quarantine_bytes(std::chrono::seconds max_age) const;
  Status check_writable() const;
  Result<EvictionReport> shrink(std::uint64_t target_bytes, Progress progress) const;
  Result<CacheRoom> promise(std::uint64_t n_bytes) const;
  Result<EvictionReport> evict(
      FunctionRef<bool(const CacheEntry&, std::uint64_t left_bytes)> wanted,
      Progress progress = {}) const;
  void sweep_stamps() const;

  CacheTenant tenant_;
  std::string cache_dir_;
  bool writable_ = false;
  std::string why_not_writable_;
  UniqueFd files_, used_;
  UniqueFd pins_;                                                     // where there is one
  UniqueFd locks_, quarantine_, tmp_;                                 // where writable
  std::unique_ptr<FileSizes> sizes_ = std::make_unique<FileSizes>();  // of files_
};

}  // namespace pc
