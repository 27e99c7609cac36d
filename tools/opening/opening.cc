#include "tools/opening/opening.h"

namespace pc::cli {

void Opening::attach(promptcache::EngineOptions* options) {
  options->progress = show;
  options->progress_user = this;
}

void Opening::end() const {
  if (interruptible_.requested()) throw promptcache::Error(PC_CANCELLED, pc_error{});
}

int Opening::show(void* opening, std::uint32_t step, std::uint64_t done, std::uint64_t total) {
  auto* const self = static_cast<Opening*>(opening);
  self->progress_.show_bytes(step == PC_OPEN_READ_WEIGHTS   ? "reading the weights"
                             : step == PC_OPEN_PACK_WEIGHTS ? "packing the weights"
                                                            : "checking packed weights",
                             done, total);
  return self->interruptible_.requested() ? 1 : 0;
}

}  // namespace pc::cli
