// What names a model's weights and its rotation in the keys of module files:
// modules that were encoded by other weights must never be found.
//
// The weights' digest is a tree: SHA-256 of each 8 MiB piece of a tensor, then
// over the hyperparameters and, in the order of names, each tensor's name,
// type, shape and pieces. Pieces are hashed on all processors. How the tensors
// are spread over files does not count, nor does what the model does not use.
#pragma once

#include "base/hash.h"
#include "runtime/backend.h"      // pc_model_desc
#include "runtime/safetensors.h"  // TensorMap

namespace pc {

Digest weights_digest(const pc_model_desc& desc, const TensorMap& tensors);

// Over inv_freq, rope_dims and rope_scale.
Digest rope_digest(const pc_model_desc& desc);

}  // namespace pc
