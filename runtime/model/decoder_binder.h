// From a checkpoint's tensors to the backend's description of a decoder: which
// parts a model has follows from its ModelConfig, what they are called from its
// format's table of names.
//
// Matrices stay where they lie; fused ones are cut into views. Only where a
// format stores a matrix transposed or its rows interleaved is it copied.
#pragma once

#include <string_view>

#include "base/status.h"
#include "runtime/model/model.h"
#include "runtime/model/model_config.h"
#include "runtime/model/tensor_binder.h"

namespace pc {

// Names without ".weight" and ".bias". "" = the format has no such tensor.
struct TensorNames {
  std::string_view layer_prefix = {};  // "model.layers.": then the layer's number and a dot
  std::string_view embedding = {}, positions = {}, final_norm = {}, head = {};
  std::string_view attn_norm = {}, q = {}, k = {}, v = {}, qkv = {}, q_norm = {}, k_norm = {};
  std::string_view o = {}, attn_post_norm = {};
  std::string_view ffn_norm = {}, gate = {}, up = {}, gate_up = {}, down = {}, ffn_post_norm = {};
  std::string_view optional_base = {};  // in front of all names; files may leave it out
  bool transposed = false;              // matrices of blocks are stored [inputs, outputs]
  bool qkv_by_group = false;  // fused rows: for each K/V head its queries, its key, its value
};

extern const TensorNames kLlamaNames;  // transformers' names of Llama-shaped decoders
extern const TensorNames kGgufNames;   // GGUF's, for all architectures

// Fills the tensors of model->desc, and model->layers.
Status bind_decoder(const ModelConfig& config, const TensorNames& names, TensorBinder& tensors,
                    Model* model);

}  // namespace pc
