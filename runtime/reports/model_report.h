// The JSON report on a model's files, without running it. Fields are added over
// time, never renamed. Threads: any.
#pragma once

#include <string>

#include "base/status.h"
#include "runtime/engine/engine.h"

namespace pc {

// Architecture, shape, types of each group of weights, tokenizer, chat template,
// positions, K/V bytes; of a refused model as much as its files say, and the
// reason. The weights' digest only where it is remembered: none is read.
// Errors: only where there is no model to look at.
Result<std::string> describe_model(const EngineOptions& options);

// A type as reports spell it: "bf16", "q4_k"; "none" for PC_DTYPE_NONE.
std::string dtype_name(std::uint32_t dtype);

}  // namespace pc
