// What this CPU's forward pass can run of what a model's description may say.
//
// Pure. Threads: any.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "runtime/backend/backend.h"

namespace pc {

// kv_type: of modules' states, as model_open has it. kUnsupported names what cannot be run.
Status check_model(const pc_model_desc& desc, std::uint32_t kv_type);

}  // namespace pc
