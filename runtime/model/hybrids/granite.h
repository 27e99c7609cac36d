// What Granite's families have in common: factors of embeddings, attention, what a block adds, and
// logits.
//
// Pure. Threads: any.
#pragma once

#include <array>
#include <string_view>

#include "base/status.h"
#include "runtime/json/json.h"
#include "runtime/model/shape/gguf_config.h"
#include "runtime/model/shape/mixture_config.h"
#include "runtime/model/shape/model_config.h"
#include "runtime/model/shape/tensor_names.h"

namespace pc {

inline constexpr std::array<std::string_view, 5> kGraniteHonoured{
    "logits_scaling", "embedding_multiplier", "residual_multiplier", "num_experts",
    "num_local_experts"};
inline constexpr MixtureFields kGraniteMixture{.d_expert = "intermediate_size",
                                               .d_shared = "shared_intermediate_size"};

Status configure_granite(JsonView config, ModelConfig* out);
Status configure_granite_gguf(const GgufKeys& keys, ModelConfig* out);

// Of mixtures beside a shared network, in folders.
TensorNames granite_mixture_names();

}  // namespace pc
