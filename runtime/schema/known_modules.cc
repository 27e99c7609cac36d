#include "runtime/schema/known_modules.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/schema/encoder.h"  // identity_of

namespace pc {
namespace {

// What a module takes while it is known: its tokens, in the job and in the identity.
std::uint64_t bytes_of(const SchemaModule& module) {
  std::uint64_t bytes = 0;
  for (const IdentityRun& run : module.identity.runs)
    bytes += 2 * sizeof(TokenId) * run.tokens.size();
  return bytes;
}

}  // namespace

void KnownModules::keep(const pml::JobSpec& spec) {
  std::shared_ptr<SchemaModule> module = entry(spec);
  module->kept = true;
  make(*module, spec);
  kept_.push_back(std::move(module));
}

std::shared_ptr<SchemaModule> KnownModules::look_at(const pml::JobSpec& spec) {
  std::shared_ptr<SchemaModule> module = entry(spec);
  make(*module, spec);
  return module;
}

std::shared_ptr<SchemaModule> KnownModules::get(const pml::JobSpec& spec) {
  std::shared_ptr<SchemaModule> module = look_at(spec);
  if (!module->kept) remember(module);
  return module;
}

std::vector<std::shared_ptr<SchemaModule>> KnownModules::of(
    std::span<const std::uint32_t> subjects) const {
  const auto is_one = [&](const std::shared_ptr<SchemaModule>& module) {
    return !module->job.scaffold &&
           std::ranges::find(subjects, module->job.subject) != subjects.end();
  };
  std::vector<std::shared_ptr<SchemaModule>> modules;
  std::ranges::copy_if(kept_, std::back_inserter(modules), is_one);
  const MutexLock lock(mutex_);
  std::ranges::copy_if(recent_, std::back_inserter(modules), is_one);
  return modules;
}

std::size_t KnownModules::size() const {
  const MutexLock lock(mutex_);
  return known_.size();
}

std::shared_ptr<SchemaModule> KnownModules::entry(const pml::JobSpec& spec) {
  const MutexLock lock(mutex_);
  std::weak_ptr<SchemaModule>& known = known_[spec];
  std::shared_ptr<SchemaModule> module = known.lock();
  if (module) return module;
  module = std::make_shared<SchemaModule>();
  known = module;
  sweep();
  return module;
}

void KnownModules::make(SchemaModule& module, const pml::JobSpec& spec) const {
  const MutexLock lock(module.making);
  if (module.made) return;
  module.job = pml::make_job(origin_.layout, spec);
  module.identity = identity_of(module.job, origin_.base, origin_.relocates, origin_.model);
  module.key = key_of(module.identity);
  module.made = true;
}

void KnownModules::remember(const std::shared_ptr<SchemaModule>& module) {
  const std::uint64_t bytes = bytes_of(*module);
  if (bytes > recent_bytes_) return;
  std::vector<std::shared_ptr<SchemaModule>> gone;  // files are unmapped after the lock
  const MutexLock lock(mutex_);
  const auto at = std::find(recent_.begin(), recent_.end(), module);
  if (at != recent_.end()) {
    std::rotate(at, at + 1, recent_.end());
    return;
  }
  recent_.push_back(module);
  pinned_bytes_ += bytes;
  while (recent_.size() > kRecentModules || pinned_bytes_ > recent_bytes_) {
    gone.push_back(recent_.front());  // may throw, so first
    pinned_bytes_ -= bytes_of(*gone.back());
    recent_.pop_front();
  }
}

// Entries of modules that are gone are at most as many as the others and kRecentModules,
// and each is looked at a few times in its life.
void KnownModules::sweep() {
  if (known_.size() < sweep_at_) return;
  std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
  sweep_at_ = 2 * known_.size() + kRecentModules;
}

}  // namespace pc
