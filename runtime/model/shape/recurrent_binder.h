// Takes a recurrent layer out of a checkpoint: pc_recurrent, in whatever order the format has its
// matrices' rows.
//
// Pure but for the binder. Threads: thread-compatible.
#pragma once

#include "base/status.h"
#include "runtime/backend/backend.h"

namespace pc {

struct ModelConfig;
class LayerTensors;

// Errors: those of the binder.
Status bind_recurrent(const ModelConfig& config, LayerTensors& tensors, pc_recurrent* out);

}  // namespace pc
