#include "runtime/engine/held_modules.h"

#include <utility>

namespace pc {

void HeldModules::hold(const ModuleHandle& module) {
  const std::uint64_t bytes = module->bytes().size();
  if (bytes > budget_bytes_) return;
  std::list<ModuleHandle> gone;  // files are unmapped after the lock
  std::list<ModuleHandle> one{module};
  const MutexLock lock(mutex_);
  if (const auto held = places_.find(module.get()); held != places_.end()) {
    modules_.splice(modules_.end(), modules_, held->second);
    return;
  }
  places_.emplace(module.get(), one.begin());  // nothing behind this throws
  modules_.splice(modules_.end(), one);
  bytes_ += bytes;
  while (bytes_ > budget_bytes_) {
    bytes_ -= modules_.front()->bytes().size();
    places_.erase(modules_.front().get());
    gone.splice(gone.end(), modules_, modules_.begin());
  }
}

void HeldModules::drop(const ModuleHandle& module) {
  const MutexLock lock(mutex_);
  const auto held = places_.find(module.get());
  if (held == places_.end()) return;
  bytes_ -= module->bytes().size();
  modules_.erase(held->second);
  places_.erase(held);
}

std::uint64_t HeldModules::release() {
  std::list<ModuleHandle> gone;  // files are unmapped after the lock
  const MutexLock lock(mutex_);
  gone.swap(modules_);
  places_.clear();
  bytes_ = 0;
  std::uint64_t released = 0;
  for (const ModuleHandle& module : gone)
    if (module.use_count() == 1) released += module->bytes().size();
  return released;
}

std::uint64_t HeldModules::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

}  // namespace pc
