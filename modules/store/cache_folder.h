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
#include "modules/store/replacement.h"
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
  std::string_view manifest = "";      // a file: the list of its files (modules/tiers/manifest.h)
  std::chrono::seconds use_grain{60};  // how often, at most, a use is written down
};

enum class CacheAccess {
  kRead,         // nothing is changed, not even a time of use
  kWrite,        // but no folder is made
  kMakeFolders,  // the tenant's, where missing
  kMakeAll,      // the cache directory, too
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

  // Where the folder of files is missing and `access` does not make it, the CacheFolder has no
  // files; where the folder cannot be written, it is not writable. Errors: kNotFound; kIo, also for
  // folders that are not to be trusted: owned by anybody but us and root, or writable by others.
  static Result<CacheFolder> open(const std::string& cache_dir, const CacheTenant& tenant,
                                  CacheAccess access);

  bool writable() const { return writable_; }
  // Why the folder is not writable although `access` asked for it: a sentence without its full
  // stop.
  const std::string& why_not_writable() const { return why_not_writable_; }
  std::string name_of(const Digest& key) const;  // "<64 hex><suffix>"
  std::string path_of(const Digest& key) const;  // for messages
  std::string lock_path() const;                 // for messages

  // A file that may be read, checked for nothing else. Its descriptor says "in use" to
  // eviction, until it and all mappings of it are gone. kNotFound; kIo for what is not to
  // be trusted: anything but a regular file of ours or of root that nobody else may write.
  Result<OpenFile> open_file(const Digest& key) const;

  // Runs `verify`, unless it ran without an error since this machine started and the file
  // is the same since then (is_verified). Marks the use.
  Status verify_once(const Digest& key, const OpenFile& file, FunctionRef<Status()> verify) const;
  bool is_verified(const Digest& key, const OpenFile& file) const;
  void mark_used(const Digest& key) const;

  // A file that is to be: complete, and of its full size on the disk, before it gets its
  // name, in one step; the first writer wins. `write` writes all bytes to a descriptor and
  // returns 0 or an errno. A crash at any instant leaves nothing or the whole file, and in
  // tmp perhaps an unfinished one. Errors: kIo; kCancelled, where `write` gave ECANCELED.
  Result<Published> publish(const Digest& key, std::uint64_t n_bytes, FunctionRef<int(int)> write,
                            Durability durability, Staging staging = Staging::kAnonymous) const;
  Result<Published> publish(const Digest& key, std::span<const std::byte> bytes,
                            Durability durability, Staging staging = Staging::kAnonymous) const;

  // Puts a small file in the place of the one with this key's name, if any, in one step: a reader
  // finds the old file or the new one, and a crash at any instant leaves one of the two. kIo.
  Status replace(const Digest& key, std::span<const std::byte> bytes) const;

  // A new file to be written in place, whose blocks are reserved on the disk, so that writing
  // cannot run out of space. Null where the folder cannot be written, the file system has no
  // unnamed files or cannot reserve, or the disk is full: then the caller makes the file in memory.
  // The draft keeps `room`.
  std::shared_ptr<CacheDraft> draft(std::uint64_t n_bytes, CacheRoom room = {}) const;
  // Gives a draft its name; see publish() above.
  Result<Published> publish(const Digest& key, CacheDraft& draft, Durability durability) const;

  // kUnusable where nothing may be written.
  FileLock lock(const std::string& name, std::chrono::milliseconds patience) const;

  // Every file, by key. Foreign names, links and pipes are ignored.
  Result<std::vector<CacheEntry>> list() const;
  // Bytes of the files, the quarantine, unfinished files and promised room. Stamps are not counted.
  std::uint64_t stored_bytes() const;

  // Unlinks, also where in use: mappings stay valid. Ends a pin. kNotFound; kIo (read-only).
  Status remove(const Digest& key) const;
  // Moves a damaged file into the quarantine, so that its name is free; only if `bad` still has the
  // name. True: it was moved.
  bool set_aside(const Digest& key, const OpenFile& bad) const;

  // From pin() until unpin() or remove(), no process evicts the file of this key. To pin twice is
  // to pin once. Errors: kNotFound (pin: there is no such file; unpin: it is not pinned); kIo.
  Status pin(const Digest& key) const;
  Status unpin(const Digest& key) const;
  bool is_pinned(const Digest& key) const;

  // Both leave files that any process uses, and remove what crashes have left. evict_to() unlinks
  // the quarantine and then files until target_bytes are left, those first that are worth least to
  // keep (modules/store/replacement.h). One process at a time evicts: kIo, if another is still at
  // it after `patience`; kCancelled, where `progress` stops it between two files. evict_unused()
  // unlinks files that nobody used for 30 days, and those for whose key `outdated` is true.
  Result<EvictionReport> evict_to(std::uint64_t target_bytes, std::chrono::milliseconds patience,
                                  WorthOf worth = {}, Progress progress = {}) const;
  Result<EvictionReport> evict_unused(FunctionRef<bool(const Digest&)> outdated = {}) const;
  // Reserves room for a file of n_bytes, so that all files together stay within budget_bytes. Where
  // there is no room, it evicts as evict_to() does, one process at a time (except where files
  // cannot be locked); where there is room, it waits for nobody. Errors: kBudget, where files in
  // use and room promised to others leave too little; kIo, as of evict_to(), or where the promise
  // cannot be written. *evicted: what was evicted.
  Result<CacheRoom> reserve(std::uint64_t n_bytes, std::uint64_t budget_bytes,
                            std::chrono::milliseconds patience, EvictionReport* evicted = nullptr,
                            WorthOf worth = {}) const;
  // Removes unfinished files whose writers were killed: those that nobody has locked or, where
  // files cannot be locked, those that are an hour old.
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
  void mark_verified(const Digest& key, const OpenFile& file) const;
  std::int64_t last_use_ns(const Digest& key, const struct stat& file) const;
  UniqueFd open_stamp(const Digest& key) const;
  std::uint64_t quarantine_bytes(std::chrono::seconds max_age) const;
  Status check_writable() const;
  Result<EvictionReport> shrink(std::uint64_t target_bytes, WorthOf worth, Progress progress) const;
  Result<CacheRoom> promise(std::uint64_t n_bytes) const;
  void evict(const CacheEntry& entry, EvictionReport* report) const;
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
