#include "modules/module_store.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <utility>

#include "base/mutex.h"
#include "modules/module_worth.h"
#include "modules/object_reader.h"

namespace pc {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// How long making room may wait for another process that is doing the same, and for how long
// nobody waits any more after one that took longer: it may be stopped.
constexpr milliseconds kGcPatience(2000);
constexpr std::chrono::seconds kGcRest(60);
// How quickly states are made where none were yet: of a model of 1.5B (28,672 bytes a token, 577
// tokens a second on two cores) it is 16 MB/s.
constexpr double kMadeBytesPerSecond = 10e6;
// What is made in less says more of the moment than of the machine.
constexpr std::uint64_t kMeasuredBytes = 1 << 20;
constexpr std::chrono::minutes kSameRemark(1);

MissReason miss_reason(Code code) {
  switch (code) {
    case Code::kNotFound:
      return MissReason::kNotEncoded;
    case Code::kCorrupt:
      return MissReason::kCorrupt;
    case Code::kUnsupported:
      return MissReason::kVersion;
    case Code::kMismatch:
      return MissReason::kMismatch;
    default:
      return MissReason::kUnreadable;
  }
}

Lookup miss(Error failure) {
  const MissReason reason = miss_reason(failure.code);
  if (reason == MissReason::kNotEncoded) failure.message = "not encoded yet";
  return {nullptr, reason, std::move(failure.message)};
}

// Whoever was first must have stored what we would have.
Status same_tokens(const ModuleFile& theirs, const ModuleFile& ours) {
  if (std::ranges::equal(theirs.tokens(), ours.tokens()) &&
      std::ranges::equal(theirs.runs(), ours.runs())) {
    return ok();
  }
  return error(Code::kMismatch, "module file with the key of other tokens");
}

}  // namespace

std::string_view miss_name(MissReason reason) {
  switch (reason) {
    case MissReason::kNone:
      return "hit";
    case MissReason::kNotEncoded:
      return "not-encoded";
    case MissReason::kCorrupt:
      return "corrupt";
    case MissReason::kVersion:
      return "version";
    case MissReason::kMismatch:
      return "mismatch";
    case MissReason::kUnreadable:
      return "unreadable";
    case MissReason::kDisabled:
      return "disabled";
  }
  return "unknown";
}

struct ModuleStore::State {
  StoreOptions options;
  CacheFolder folder;
  std::string why_no_dir;  // "" where there is one
  LinkHints hints;
  ModuleWorths worths;
  TierSearch tiers;
  std::atomic<double> made_bytes_per_second{0};  // 0: nothing was made yet

  // The mappings that live in this process. Weak: sessions keep modules, not the store.
  Mutex mutex;
  std::map<ModuleKey, std::weak_ptr<const ModuleFile>> mapped PC_GUARDED_BY(mutex);

  // Not one whose file changed since: that is opened, and looked at, again.
  ModuleHandle find_mapped(const ModuleKey& key) {
    const MutexLock guard(mutex);
    const auto it = mapped.find(key);
    ModuleHandle module = it == mapped.end() ? nullptr : it->second.lock();
    return module && module->is_current() ? module : nullptr;
  }

  // One mapping for each file: of two threads that opened it, the first one's.
  ModuleHandle share(ModuleHandle module) {
    const MutexLock guard(mutex);
    std::erase_if(mapped, [](const auto& entry) { return entry.second.expired(); });
    const auto [it, inserted] = mapped.try_emplace(module->key(), module);
    if (inserted) return module;
    ModuleHandle first = it->second.lock();
    if (first && first->is_current()) return first;
    it->second = module;
    return module;
  }

  Result<ModuleHandle> load(const ModuleKey& key,
                            const std::function<Status(const ModuleFile&)>& accept) {
    bool is_set_aside = false;
    auto module = read_object(folder, key, ReadMode::kUse, accept, &is_set_aside);
    set_aside_files += is_set_aside;
    return module.ok() ? share(std::move(module).value()) : std::move(module);
  }

  std::string latest_remark PC_GUARDED_BY(mutex);
  Clock::time_point remarked PC_GUARDED_BY(mutex);
  void remark(const std::string& sentence) {
    if (!options.tiers.remark) return;
    {
      const MutexLock guard(mutex);
      if (sentence == latest_remark && Clock::now() - remarked < kSameRemark) return;
      latest_remark = sentence;
      remarked = Clock::now();
    }
    options.tiers.remark(sentence);
  }

  std::atomic<std::uint64_t> evicted_files{0}, evicted_bytes{0}, set_aside_files{0};
  void count(const EvictionReport& report) {
    evicted_files += report.removed_files;
    evicted_bytes += report.removed_bytes;
  }

  // A time of the steady clock; until then nobody waits for whoever makes room.
  std::atomic<Clock::duration> impatient_until{Clock::duration::min()};

  Result<EvictionReport> evict_to(std::uint64_t target_bytes, milliseconds patience,
                                  Progress progress = {}) {
    const auto worth = [this](const Digest& key) { return worths.of(folder, key); };
    return folder.evict_to(target_bytes, patience, worth, progress);
  }

  Result<CacheRoom> reserve(std::uint64_t n_bytes, std::uint64_t budget) {
    const bool waits = Clock::now().time_since_epoch() >= impatient_until.load();
    EvictionReport evicted;
    const auto worth = [this](const Digest& key) { return worths.of(folder, key); };
    auto room =
        folder.reserve(n_bytes, budget, waits ? kGcPatience : milliseconds(0), &evicted, worth);
    count(evicted);
    if (waits && !room.ok() && room.error().code == Code::kIo)
      impatient_until = (Clock::now() + kGcRest).time_since_epoch();
    return room;
  }

  // Where the module was made in memory.
  Result<Published> write(const ModuleFile& module) {
    const std::uint64_t n_bytes = module.bytes().size();
    const auto attempt = [&](std::uint64_t budget) -> Result<Published> {
      PC_TRY(const CacheRoom room, reserve(n_bytes, budget));
      return folder.publish(module.key().digest, module.bytes(), options.durability);
    };
    auto published = attempt(options.budget_bytes);
    if (!published.ok() || *published != Published::kNoSpace) return published;
    if (options.budget_bytes == kNoBudget) return no_space(n_bytes);
    // The disk is smaller than the budget: give up as much as is to come, once.
    published = attempt(folder.stored_bytes());
    if (published.ok() && *published != Published::kNoSpace) return published;
    return no_space(n_bytes);
  }

  Result<Published> write(const ModuleFile& module, CacheDraft& draft) {
    PC_TRY(const Published published,
           folder.publish(module.key().digest, draft, options.durability));
    if (published == Published::kNoSpace) return no_space(module.bytes().size());
    return published;
  }

  Error no_space(std::uint64_t n_bytes) const {
    return error(Code::kIo, "no space for a module of " + std::to_string(n_bytes) +
                                " bytes on the disk of " + options.dir);
  }
};

ModuleStore::ModuleStore(std::unique_ptr<State> state) : state_(std::move(state)) {}
ModuleStore::~ModuleStore() = default;

Result<std::unique_ptr<ModuleStore>> ModuleStore::open(StoreOptions options) {
  if (options.dir.empty() && options.tiers.dirs.empty())
    return error(Code::kInvalidArgument, "the store needs a directory");
  const auto access = options.read_only ? CacheAccess::kRead : CacheAccess::kMakeAll;
  auto state = std::make_unique<State>();
  auto folder = CacheFolder::open(options.dir, kModuleTenant, access);
  if (!folder.ok() && !options.tiers.dirs.empty()) {
    state->why_no_dir =
        options.dir.empty() ? "it has no directory of its own" : folder.error().message;
    folder = CacheFolder();
  }
  if (!folder.ok()) {
    Error failure = std::move(folder).error();
    failure.message += "; choose another directory, or run without a store";
    return failure;
  }
  state->folder = std::move(folder).value();
  state->hints = LinkHints::open(options.dir, state->folder.writable());
  state->tiers = {options.tiers.dirs, kModuleTenant, options.tiers.trusted, options.tiers.copy};
  state->options = std::move(options);
  // Makes the file of the lock: once the disk is full, it could not be made any more, and nothing
  // could be given up.
  (void)state->folder.lock("gc", milliseconds(0));
  // What the processes that left could not give up. Where somebody else is at it, it is done.
  if (state->folder.writable() && state->folder.stored_bytes() > state->options.budget_bytes)
    if (const auto report = state->evict_to(state->options.budget_bytes, milliseconds(0));
        report.ok())
      state->count(*report);
  return std::unique_ptr<ModuleStore>(new ModuleStore(std::move(state)));
}

const StoreOptions& ModuleStore::options() const {
  return state_->options;
}
bool ModuleStore::writable() const {
  return state_->folder.writable();
}
const std::string& ModuleStore::why_not_writable() const {
  return has_dir() ? state_->folder.why_not_writable() : state_->why_no_dir;
}
bool ModuleStore::has_dir() const {
  return state_->why_no_dir.empty();
}

Lookup ModuleStore::find(const ModuleIdentity& identity) {
  const ModuleCauses causes = causes_of(identity);
  const ModuleKey key = key_of(causes);
  const auto matches = [&](const ModuleFile& module) { return module.matches(identity, causes); };
  if (ModuleHandle module = state_->find_mapped(key)) {
    if (auto status = matches(*module); !status.ok()) return miss(std::move(status).error());
    state_->folder.mark_used(key.digest);
    return {std::move(module), MissReason::kNone, ""};
  }
  auto module = state_->load(key, matches);
  if (module.ok()) return {std::move(module).value(), MissReason::kNone, ""};
  if (!state_->tiers.empty()) {
    auto behind = find_behind(key, matches);
    if (behind.ok()) return {std::move(behind).value(), MissReason::kNone, ""};
  }
  return miss(std::move(module).error());
}

std::vector<std::string> ModuleStore::tier_remarks() const {
  std::vector<std::string> remarks;
  for (const TierReport& tier : tiers())
    if (!tier.trouble.empty())
      remarks.push_back("the store " + tier.dir +
                        " behind this one is not used, or not for all: " + tier.trouble);
  return remarks;
}

Result<ModuleHandle> ModuleStore::find_behind(const ModuleKey& key,
                                              const TierSearch::Accept& accept) {
  const auto make = [&](std::uint64_t n_bytes) { return draft(n_bytes); };
  const auto give = [&](const ModuleHandle& module, CacheDraft* in) { return publish(module, in); };
  const double made = state_->made_bytes_per_second;
  auto module = state_->tiers.find(key, accept, {state_->folder, make, give},
                                   made > 0 ? made : kMadeBytesPerSecond);
  if (module.ok()) return state_->share(std::move(module).value());
  if (module.error().code != Code::kNotFound)
    state_->remark("a module is not used from a store behind this one: " + module.error().message);
  return module;
}

void ModuleStore::note_made(std::uint64_t n_bytes, std::chrono::nanoseconds time) {
  if (n_bytes < kMeasuredBytes || time.count() <= 0) return;
  const double rate = static_cast<double>(n_bytes) / std::chrono::duration<double>(time).count();
  const double known = state_->made_bytes_per_second;
  state_->made_bytes_per_second = known == 0 ? rate : (known + rate) / 2;
}

std::vector<TierReport> ModuleStore::tiers() const {
  return state_->tiers.reports();
}

std::shared_ptr<CacheDraft> ModuleStore::draft(std::uint64_t n_bytes) {
  if (!writable() || n_bytes > options().budget_bytes) return nullptr;
  auto room = state_->reserve(n_bytes, options().budget_bytes);
  return room.ok() ? state_->folder.draft(n_bytes, std::move(room).value()) : nullptr;
}

Result<ModuleHandle> ModuleStore::publish(const ModuleHandle& module, CacheDraft* draft) {
  const std::uint64_t bytes = module->bytes().size();
  if (!writable()) return read_only_error();
  if (bytes > options().budget_bytes) {
    return error(Code::kBudget,
                 "a module of " + std::to_string(bytes) + " bytes is larger than the " +
                     std::to_string(options().budget_bytes) + " bytes that the store may hold");
  }
  const auto accept = [&](const ModuleFile& theirs) { return same_tokens(theirs, *module); };
  const auto write = [&] {
    return draft ? state_->write(*module, *draft) : state_->write(*module);
  };
  PC_TRY(Published published, write());
  auto stored = state_->load(module->key(), accept);
  if (stored.ok() || published == Published::kNew) return stored;
  const Code code = stored.error().code;
  // A file of ours that opens and cannot be read, for now or for ever: this module takes its place.
  if (code == Code::kIo && state_->folder.open_file(module->key().digest).ok()) {
    PC_CHECK_OK(state_->folder.replace(module->key().digest, module->bytes()));
    return state_->load(module->key(), accept);
  }
  // The first writer's file was bad and is set aside, or is evicted by now:
  // ours may take its place, once.
  if (code != Code::kCorrupt && code != Code::kMismatch && code != Code::kNotFound) return stored;
  PC_TRY(published, write());
  return state_->load(module->key(), accept);
}

FileLock ModuleStore::lock(const ModuleKey& key, milliseconds timeout, unsigned stand_in) {
  std::string name = key.hex().substr(0, 2);
  if (stand_in > 0) name += "." + std::to_string(stand_in);
  return state_->folder.lock(name, timeout);
}

const LinkHints& ModuleStore::hints() const {
  return state_->hints;
}

StoreCounts ModuleStore::counts() const {
  return {state_->evicted_files, state_->evicted_bytes, state_->set_aside_files};
}

Result<std::vector<CacheEntry>> ModuleStore::list() const {
  return state_->folder.list();
}

Result<ModuleHandle> ModuleStore::verify(const ModuleKey& key) const {
  return read_object(state_->folder, key, ReadMode::kVerify,
                     [](const ModuleFile&) { return ok(); });
}

Result<ModuleHandle> ModuleStore::inspect(const ModuleKey& key) const {
  return read_object(state_->folder, key, ReadMode::kInspect,
                     [](const ModuleFile&) { return ok(); });
}

Status ModuleStore::remove(const ModuleKey& key) {
  if (!writable()) return read_only_error();
  PC_CHECK_OK(state_->folder.remove(key.digest));
  const MutexLock guard(state_->mutex);
  state_->mapped.erase(key);
  return ok();
}

Status ModuleStore::pin(const ModuleKey& key) {
  return state_->folder.pin(key.digest);
}
Status ModuleStore::unpin(const ModuleKey& key) {
  return state_->folder.unpin(key.digest);
}
bool ModuleStore::is_pinned(const ModuleKey& key) const {
  return state_->folder.is_pinned(key.digest);
}

void ModuleStore::sweep() const {
  state_->folder.sweep_unfinished();
}

Result<EvictionReport> ModuleStore::gc(std::uint64_t target_bytes, Progress progress) {
  if (!writable()) return read_only_error();
  PC_TRY(const EvictionReport report, state_->evict_to(target_bytes, kGcPatience, progress));
  if (report.left_bytes == 0) state_->hints.clear();
  state_->count(report);
  return report;
}

Error ModuleStore::read_only_error() const {
  return error(Code::kIo, "the store " + options().dir + " is read-only");
}

}  // namespace pc
