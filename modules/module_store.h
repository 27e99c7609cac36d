// The directory of module files: shared by threads and processes, crash-safe,
// never in the way.
//
//   <dir>/v3/objects/<64 hex>.module   immutable, 0400; the name is the key
//   <dir>/v3/used/<64 hex>             mtime: last use; text: verified in which boot
//   <dir>/v3/locks/<2 hex>[.1], gc     file locks, empty
//   <dir>/v3/quarantine/               damaged files, set aside
//   <dir>/v3/pins/<64 hex>             empty: never evicted
//   <dir>/v3/tmp/                      unfinished files where O_TMPFILE is missing
//   <dir>/v3/next/                     which links follow what (modules/link_hints.h)
//   <dir>/v3/manifest                  where it was signed: the list of its files
//
// A tenant of the file cache, whose promises hold (modules/store/cache_folder.h).
// Everything that goes wrong is a named miss or an error value; the engine
// then computes.
//
// Threads: all methods from any thread. Handles outlive the store.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress.h"
#include "base/status.h"
#include "modules/format.h"  // module_version
#include "modules/link_hints.h"
#include "modules/module_file.h"
#include "modules/module_key.h"
#include "modules/store/cache_folder.h"
#include "modules/tier_search.h"

namespace pc {

enum class MissReason {
  kNone,        // a hit
  kNotEncoded,  // no such file
  kCorrupt,     // damaged; set aside where the store is writable
  kVersion,     // another version of the format; left alone
  kMismatch,    // a sound file under the wrong name; set aside where writable
  kUnreadable,  // the operating system refused, or its owner is a stranger
  kDisabled,    // no store is in use (said by the engine)
};

// "not-encoded": as users see it in reports.
std::string_view miss_name(MissReason reason);

// The answer to a look-up: a module, or why there is none.
struct Lookup {
  ModuleHandle module;  // null: a miss
  MissReason miss = MissReason::kNone;
  std::string why;  // one sentence for a miss

  explicit operator bool() const { return module != nullptr; }
};

// What a store did to the files of its directory since it was opened.
struct StoreCounts {
  std::uint64_t evicted_files = 0;
  std::uint64_t evicted_bytes = 0;
  std::uint64_t set_aside_files = 0;  // damaged, or under the name of another
};

// Other stores, asked in their order for what a store does not have (modules/tier_search.h).
struct TierOptions {
  std::vector<std::string> dirs = {};
  std::vector<PublicKey> trusted = {};  // whose signatures stand for files that others may change
  TierCopy copy = TierCopy::kAuto;
  // Told, on the caller's thread, why a tier could not give what it lists; the same sentence once a
  // minute at most. May be empty.
  std::function<void(const std::string& sentence)> remark = {};
};

// Nothing is evicted, not even where the disk is full.
inline constexpr std::uint64_t kNoBudget = UINT64_MAX;

struct StoreOptions {
  std::string dir;                          // created, 0700, where missing and writable
  bool read_only = false;                   // write nothing, not even the time of use
  std::uint64_t budget_bytes = 8ull << 30;  // objects and quarantine together
  Durability durability = Durability::kData;
  TierOptions tiers = {};
};

// The directories above. The version of the format is part of their path, so that builds
// of two versions can share one cache directory.
inline constexpr CacheTenant kModuleTenant{.files = "v3/objects",
                                           .suffix = ".module",
                                           .used = "v3/used",
                                           .locks = "v3/locks",
                                           .quarantine = "v3/quarantine",
                                           .pins = "v3/pins",
                                           .tmp = "v3/tmp",
                                           .manifest = "v3/manifest"};
static_assert(module_version(0) == 3);

class ModuleStore {
 public:
  // A directory that cannot be written is served read-only; one that holds more than the budget
  // is made smaller. Errors, unless there are tiers, which then serve without it (has_dir()):
  // kNotFound (missing, and not to be created), kIo (not a directory, not readable).
  static Result<std::unique_ptr<ModuleStore>> open(StoreOptions options);
  ~ModuleStore();

  const StoreOptions& options() const;
  bool writable() const;
  // CacheFolder::why_not_writable(), or why there is no directory.
  const std::string& why_not_writable() const;
  bool has_dir() const;  // does options().dir exist as a store?

  // A hit maps the file, or shares the mapping that this process already has. What this store does
  // not have is looked for in the tiers.
  Lookup find(const ModuleIdentity& identity);

  // A module of so many bytes was made in this time: how quick a tier has to be.
  void note_made(std::uint64_t n_bytes, std::chrono::nanoseconds time);
  std::vector<TierReport> tiers() const;
  // A sentence for each tier that is not used now, or not for all that it lists.
  std::vector<std::string> tier_remarks() const;

  // Writes a module and returns it mapped from its file; where another
  // process was first, its file. Makes room under the budget before.
  // Errors leave nothing visible; the module given stays usable: kBudget
  // (larger than the whole budget, or than what files in use leave of it), kIo
  // (full, read-only, refused),
  // kUnsupported (the name is taken by another version's file), kNotFound
  // (evicted by another process before it could be opened).
  // `draft`: the draft of this store in which the module was made; null: it was made in memory.
  Result<ModuleHandle> publish(const ModuleHandle& module, CacheDraft* draft = nullptr);

  // A file in which a module of n_bytes can be made, with its room reserved; null: make it in
  // memory.
  std::shared_ptr<CacheDraft> draft(std::uint64_t n_bytes);

  // The right to encode a module, so that one process does it: miss -> lock -> find again -> encode
  // -> publish. Waits up to `timeout`; kBusy: another process holds the lock, and the caller should
  // wait on while that one makes progress; kUnusable (a read-only store, too): encode without the
  // lock. A thread holds one lock at a time, since keys share 256 of them. `stand_in` > 0: the lock
  // of whoever takes over from a holder that is stopped.
  FileLock lock(const ModuleKey& key, std::chrono::milliseconds timeout, unsigned stand_in = 0);

  // Which links of chains follow which (modules/link_hints.h).
  const LinkHints& hints() const;

  StoreCounts counts() const;

  // Every module file, by key: nothing but its size is checked.
  Result<std::vector<CacheEntry>> list() const;
  // Opens by key alone, for reports, and sets nothing aside. `inspect` checks
  // header and tables, `verify` every byte.
  Result<ModuleHandle> inspect(const ModuleKey& key) const;
  Result<ModuleHandle> verify(const ModuleKey& key) const;
  // Unlinks, also where in use: mappings stay valid. kNotFound.
  Status remove(const ModuleKey& key);
  // See CacheFolder::pin().
  Status pin(const ModuleKey& key);
  Status unpin(const ModuleKey& key);
  bool is_pinned(const ModuleKey& key) const;
  // Removes the unfinished files of writers that were killed.
  void sweep() const;
  // Unlinks those worth least to keep (docs/adr/0059) until at most target_bytes are left;
  // files mapped by any process, and pinned ones, stay. Sweeps what crashes have left.
  // `progress` counts files.
  Result<EvictionReport> gc(std::uint64_t target_bytes, Progress progress = {});

 private:
  struct State;
  explicit ModuleStore(std::unique_ptr<State> state);
  Error read_only_error() const;
  Result<ModuleHandle> find_behind(const ModuleKey& key, const TierSearch::Accept& accept);
  std::unique_ptr<State> state_;
};

}  // namespace pc
