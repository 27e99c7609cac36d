// The tensors of a Llama-shaped decoder under the names that transformers
// gives them. Families that differ by biases, norms of heads or windows share it.
#pragma once

#include "base/status.h"
#include "runtime/model.h"
#include "runtime/model_config.h"
#include "runtime/tensor_binder.h"

namespace pc {

Status bind_llama_shape(const ModelConfig& config, TensorBinder& tensors, Model* model);

}  // namespace pc
