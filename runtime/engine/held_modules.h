// The modules that an engine holds although nobody uses them just now: the latest used, as many as
// a budget of bytes has room for.
//
// Whoever computes with a module owns a handle of it; this is one more owner, so that the next
// prompt finds it as it is, without a look-up or, where there is no store, without encoding it
// again. A held file counts as in use, which the store does not evict: so the budget is a part of
// the store's. Threads: any.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>

#include "base/mutex.h"
#include "modules/module_file.h"

namespace pc {

class HeldModules {
 public:
  explicit HeldModules(std::uint64_t budget_bytes) : budget_bytes_(budget_bytes) {}

  // It was used now. One that is larger than the budget is not held. `with`: null, or what is to be
  // kept as long: as a backend holds the module.
  void hold(const ModuleHandle& module, std::shared_ptr<const void> with = nullptr);

  // No more, if it does: a module that changed on the disk.
  void drop(const ModuleHandle& module);

  std::uint64_t bytes() const;

  // Holds nothing any more; gives the bytes of those modules that nobody else has.
  std::uint64_t release();

 private:
  const std::uint64_t budget_bytes_;
  mutable Mutex mutex_;
  struct Held {
    ModuleHandle module;
    std::shared_ptr<const void> with;
  };
  std::list<Held> modules_ PC_GUARDED_BY(mutex_);  // the latest last
  std::unordered_map<const ModuleFile*, std::list<Held>::iterator> places_ PC_GUARDED_BY(mutex_);
  std::uint64_t bytes_ PC_GUARDED_BY(mutex_) = 0;
};

}  // namespace pc
