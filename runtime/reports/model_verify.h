// Whether a model's files are whole, as a JSON report. Fields are added over
// time, never renamed. Threads: any.
#pragma once

#include <string>

#include "base/status.h"
#include "runtime/engine/engine.h"

namespace pc {

// Reads every byte: the files can be parsed, the tensors are those that the
// architecture asks for, every element and scale is finite, the tokenizer loads
// and fits. Lists each problem that it finds, and the digests.
// Errors: only where there is no model to look at.
Result<std::string> verify_model(const EngineOptions& options);

}  // namespace pc
