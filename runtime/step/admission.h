// What is wrong with an item of a step, before any work is done for it.
//
// Functions and values. Threads: any.
#pragma once

#include <cstdint>
#include <optional>

#include "base/status.h"
#include "runtime/backend/backend.h"

namespace pc {

// The numbers of a model that an item is checked against, and its rows are as wide as.
struct StepLimits {
  std::uint32_t n_layers = 0, d_model = 0, vocab_size = 0;
  std::optional<std::uint32_t> n_positions;  // that the model learned, if it did
  bool has_alibi = false;
  bool caps_logits = false;
};
StepLimits limits_of(const pc_model_desc& desc);

std::uint64_t count_tokens(const pc_step_item& item);

// n_attached: attachments of the item's timeline. Errors: kInvalidArgument, kContextFull,
// kUnsupported.
Status admit(const StepLimits& limits, const pc_step_item& item, std::uint32_t n_attached);

}  // namespace pc
