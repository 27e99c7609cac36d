#include "modules/tier_search.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/aligned_buffer.h"
#include "modules/object_reader.h"

namespace pc {
namespace {

using Clock = std::chrono::steady_clock;

// What is read more slowly is better copied: a module of 1,000 tokens of a model of 1.5B, 28 MB,
// then takes 0.14 s each time that its pages are not in memory, in which two cores compute 80
// tokens.
constexpr double kSlowBytesPerSecond = 200e6;
// Nobody gives up before: a first answer takes a while.
constexpr std::chrono::duration<double> kLeastTime{1.0};

bool is_slow(const Tier& tier) {
  const double rate = tier.bytes_per_second();
  return rate > 0 && rate < kSlowBytesPerSecond;
}

// A module whose bytes are in memory that `target` owns.
Result<ModuleHandle> open_copy(const TierTarget& target, const TierFile& file, const ModuleKey& key,
                               const TierSearch::Accept& accept) {
  const std::span<const std::byte> bytes = target.bytes;
  if (file.sha256 && sha256(bytes) != *file.sha256)
    return error(Code::kCorrupt, "its bytes are not those that the manifest was signed for");
  PC_TRY(ModuleHandle module, ModuleFile::open(bytes, PayloadCheck::kVerify, target.owner));
  if (module->key() != key) return error(Code::kMismatch, "module file under the name of another");
  PC_CHECK_OK(accept(*module));
  return module;
}

TierTarget memory_for(std::uint64_t n_bytes) {
  const auto memory = std::make_shared<AlignedBuffer<std::byte>>(n_bytes);
  return {memory, memory->span()};
}

// What could not become a file lives on in memory, so that nobody counts on a file without a name.
Result<ModuleHandle> into_memory(const ModuleFile& module) {
  const TierTarget target = memory_for(module.bytes().size());
  std::ranges::copy(module.bytes(), target.bytes.begin());
  return ModuleFile::open(target.bytes, PayloadCheck::kTrusted, target.owner);
}

// Where it lies.
Result<ModuleHandle> map_from(Tier& tier, const TierFile& file, const ModuleKey& key,
                              const TierSearch::Accept& accept, const CacheFolder& remembers) {
  OpenFile own{UniqueFd(::fcntl(file.file.fd.get(), F_DUPFD_CLOEXEC, 0)), file.file.st};
  if (!own.fd) return system_error("cannot open", file.path, errno);
  ::flock(own.fd.get(), LOCK_SH | LOCK_NB);  // "in use", to whoever evicts there
  return map_object(own, key, file.path, accept, [&](const ModuleFile& module) {
    expect_all(module.bytes());
    return remembers.verify_once(key.digest, own, [&] {
      const auto begin = Clock::now();
      const Status sound = verify_by_reading(module, own.fd.get());
      tier.note_read(module.bytes().size(), Clock::now() - begin);
      return sound;
    });
  });
}

// Says no once bringing n_bytes takes longer than making them would.
class Patience {
 public:
  Patience(std::uint64_t n_bytes, double made_bytes_per_second)
      : limit_(made_bytes_per_second > 0
                   ? std::max(kLeastTime, std::chrono::duration<double>(
                                              static_cast<double>(n_bytes) / made_bytes_per_second))
                   : std::chrono::duration<double>::max()) {}
  bool goes_on() const { return std::chrono::duration<double>(Clock::now() - begin_) < limit_; }

 private:
  const Clock::time_point begin_ = Clock::now();
  const std::chrono::duration<double> limit_;
};

Result<ModuleHandle> bring(Tier& tier, TierCopy copy, const ModuleKey& key,
                           const TierSearch::Accept& accept, const TierHome& home, double rate) {
  PC_TRY(const auto file, tier.open(key.digest));
  const bool must_copy = file->may_hang || file->sha256;
  const auto slow = [&] { return copy == TierCopy::kAuto && is_slow(tier); };
  if (!must_copy && copy != TierCopy::kAlways && !slow()) {
    auto module = map_from(tier, *file, key, accept, home.folder);
    if (!module.ok() || !slow()) return module;
    // This reading was slow: its pages are in memory now, and are copied from there.
    auto copied = copy_from(tier, file, key, accept, home, true, [] { return true; });
    return copied.ok() ? copied : module;
  }
  if (rate > 0 && tier.bytes_per_second() > 0 && tier.bytes_per_second() < rate)
    return error(Code::kCancelled, "reading it would take longer than computing it");
  const Patience patience(file->n_bytes(), rate);
  return copy_from(tier, file, key, accept, home, copy != TierCopy::kNever,
                   [&] { return patience.goes_on(); });
}

}  // namespace

Result<ModuleHandle> copy_from(Tier& tier, const std::shared_ptr<const TierFile>& file,
                               const ModuleKey& key, const TierSearch::Accept& accept,
                               const TierHome& home, bool to_disk, FunctionRef<bool()> goes_on) {
  if (file->n_bytes() < sizeof(ModuleHeader))
    return error(Code::kCorrupt, "damaged module file: it is cut short");
  const auto draft = to_disk ? home.draft(file->n_bytes()) : nullptr;
  const TierTarget target = draft ? TierTarget{draft, draft->bytes()} : memory_for(file->n_bytes());
  PC_CHECK_OK(tier.read(file, target, goes_on));
  PC_TRY(ModuleHandle module, open_copy(target, *file, key, accept));
  if (!to_disk) return module;
  if (draft) draft->end_writing();
  auto published = home.publish(module, draft.get());
  if (published.ok()) return published;
  return draft ? into_memory(*module) : module;
}

TierSearch::TierSearch(const std::vector<std::string>& dirs, const CacheTenant& tenant,
                       const std::vector<PublicKey>& trusted, TierCopy copy)
    : copy_(copy) {
  for (const std::string& dir : dirs)
    tiers_.push_back(std::make_unique<Tier>(dir, tenant, trusted));
}

Result<ModuleHandle> TierSearch::find(const ModuleKey& key, const Accept& accept,
                                      const TierHome& home, double made_bytes_per_second) const {
  Error failure = error(Code::kNotFound, "no store behind this one has it");
  for (const auto& tier : tiers_) {
    if (!tier->lists(key.digest)) continue;
    auto module = bring(*tier, copy_, key, accept, home, made_bytes_per_second);
    if (module.ok()) {
      tier->note_found((*module)->bytes().size());
      return module;
    }
    failure = std::move(module).error();
    if (failure.code == Code::kNotFound) continue;  // evicted there since it was listed
    const bool is_bad = failure.code == Code::kCorrupt || failure.code == Code::kMismatch;
    tier->note_failed(key.digest, is_bad);
    failure.message += " (" + tier->dir() + ")";
  }
  return failure;
}

std::vector<TierReport> TierSearch::reports() const {
  std::vector<TierReport> reports;
  for (const auto& tier : tiers_) reports.push_back(tier->report());
  return reports;
}

}  // namespace pc
