// Whether a model computes what it should, as a JSON report: it reads a text, and what
// comes of each layer is looked at. Fields are added over time, never renamed.
// Threads: any.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "runtime/engine/engine.h"

namespace pc {

// The text that a probe reads where the caller has none: English prose (Lewis Carroll,
// 1865), so that perplexities of different models on it can be compared.
extern const std::string_view kProbeText;

// Computes at most the first 512 tokens of a text one by one: perplexity, the largest
// number behind each layer and how many are not finite; and once more as one prompt, whose
// last logits must be those of the last step but for rounding. What is wrong is listed as a
// problem. Errors: those of Engine::open; kInvalidArgument where the text has fewer than two
// tokens; kUnsupported where the backend does not measure.
Result<std::string> probe_model(const EngineOptions& options, std::string_view text);

}  // namespace pc
