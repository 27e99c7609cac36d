// The families of models that can be loaded: one file each, and one entry in
// the table of registry.cc.
//
// A family reads what only it has in config.json, and fills the backend's
// description from the checkpoint's tensors. Static data. Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "runtime/json.h"
#include "runtime/model.h"
#include "runtime/model_config.h"
#include "runtime/tensor_binder.h"

namespace pc {

struct Family {
  std::string_view architecture;       // as config.json names it: "LlamaForCausalLM"
  std::string_view name;               // "llama"
  std::uint32_t default_head_dim = 0;  // where config.json gives none; 0 = d_model / n_heads

  // Sets the family's part of `out` and refuses what it cannot honour.
  Status (*configure)(JsonView config, ModelConfig* out);
  // Fills the tensors of desc, and layers, of `model`.
  Status (*bind)(const ModelConfig& config, TensorBinder& tensors, Model* model);
};

// Errors: kUnsupported, with the reason where one is known, and the list of what can be loaded.
Result<const Family*> find_family(std::string_view architecture);

}  // namespace pc
