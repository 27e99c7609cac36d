// Takes a layer's mixture of experts out of a checkpoint, in whatever form the format has it: an
// expert's matrices by themselves, or those of all experts in one tensor.
//
// Pure but for the binder. Threads: thread-compatible.
#pragma once

#include <deque>
#include <vector>

#include "base/status.h"
#include "runtime/backend/backend.h"

namespace pc {

struct ModelConfig;
class LayerTensors;

// `experts` gets a list that `out` views. Errors: those of the binder.
Status bind_mixture(const ModelConfig& config, LayerTensors& tensors,
                    std::deque<std::vector<pc_ffn>>* experts, pc_mixture* out);

}  // namespace pc
