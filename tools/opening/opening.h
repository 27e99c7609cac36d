// While a model is opened, or read whole: shows how far that has come, and lets Ctrl-C
// stop it.
//
// Thread-compatible; one at a time, and no other Interruptible beside it.
#pragma once

#include <cstdint>
#include <promptcache/promptcache.hpp>

#include "tools/output/interrupt.h"
#include "tools/output/progress.h"

namespace pc::cli {

class Opening {
 public:
  explicit Opening(bool quiet) : progress_(quiet) {}

  // Sets the progress callback of these options; the Opening must outlive the call that gets them.
  void attach(promptcache::EngineOptions* options);

  // To be called when the model is open: throws PC_CANCELLED if Ctrl-C came after the last
  // progress.
  void end() const;

 private:
  static int show(void* opening, std::uint32_t step, std::uint64_t done, std::uint64_t total);

  Progress progress_;
  Interruptible interruptible_;
};

}  // namespace pc::cli
