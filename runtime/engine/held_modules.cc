#include "runtime/engine/held_modules.h"

#include <utility>

namespace pc {

void HeldModules::hold(const ModuleHandle& module, std::shared_ptr<const void> with) {
  const std::uint64_t bytes = module->bytes().size();
  if (bytes > budget_bytes_) return;
  std::list<Held> gone;  // files are unmapped after the lock
  std::list<Held> one{{module, std::move(with)}};
  const MutexLock lock(mutex_);
  if (const auto held = places_.find(module.get()); held != places_.end()) {
    modules_.splice(modules_.end(), modules_, held->second);
    if (one.front().with) std::swap(held->second->with, one.front().with);
    gone.splice(gone.end(), one);
    return;
  }
  places_.emplace(module.get(), one.begin());  // nothing behind this throws
  modules_.splice(modules_.end(), one);
  bytes_ += bytes;
  while (bytes_ > budget_bytes_) {
    bytes_ -= modules_.front().module->bytes().size();
    places_.erase(modules_.front().module.get());
    gone.splice(gone.end(), modules_, modules_.begin());
  }
}

void HeldModules::drop(const ModuleHandle& module) {
  std::list<Held> gone;
  const MutexLock lock(mutex_);
  const auto held = places_.find(module.get());
  if (held == places_.end()) return;
  bytes_ -= module->bytes().size();
  gone.splice(gone.end(), modules_, held->second);
  places_.erase(held);
}

std::uint64_t HeldModules::release() {
  std::list<Held> gone;
  {
    const MutexLock lock(mutex_);
    gone.swap(modules_);
    places_.clear();
    bytes_ = 0;
  }
  std::uint64_t released = 0;
  for (Held& held : gone) {
    held.with.reset();  // which has the module, too
    if (held.module.use_count() == 1) released += held.module->bytes().size();
  }
  return released;
}

std::uint64_t HeldModules::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

}  // namespace pc
