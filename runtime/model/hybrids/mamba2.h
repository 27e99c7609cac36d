// What the families with Mamba-2 (arXiv 2405.21060) read alike of their files.
//
// Pure. Threads: any.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "runtime/json/json.h"
#include "runtime/model/shape/gguf_config.h"
#include "runtime/model/shape/model_config.h"
#include "runtime/model/shape/tensor_names.h"

namespace pc {

// How a family's config.json spells the sizes, and what they are where it is silent.
struct Mamba2Fields {
  std::string_view taps = "mamba_d_conv", heads = "mamba_n_heads", groups = "mamba_n_groups";
  std::string_view d_k = "mamba_d_state", conv_bias = "mamba_conv_bias";
  std::int64_t default_groups = 1, default_d_k = 256;
};

// All but which layers there are. n_values: of all heads.
Result<RecurrentConfig> read_mamba2(JsonView config, const Mamba2Fields& fields,
                                    std::uint64_t n_values);

// Which layers there are is said by the family.
Result<RecurrentConfig> read_gguf_mamba2(const GgufKeys& keys, std::uint32_t n_layers);

// "time_step_limit" cuts no steps: none of the published models has such.
Status check_step_limits(JsonView config);

// Sets GGUF's names of the parts.
void name_gguf_mamba2(TensorNames* names);
// What folders call the tensors where the mixer is "mamba".
void name_mamba2(TensorNames* names);

// No layer rotates.
void drop_ropes(ModelConfig* out);

}  // namespace pc
