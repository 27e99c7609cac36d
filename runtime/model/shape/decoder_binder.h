// From a checkpoint's tensors to the backend's description of a decoder. Which parts
// a model has follows from its ModelConfig; what they are called, from its format's
// table of names.
//
// Matrices stay where they lie, and fused ones are cut into views. A matrix is copied
// only if the format stores it transposed, or with its rows interleaved. Threads:
// values, thread-compatible.
#pragma once

#include <deque>
#include <vector>

#include "base/status.h"
#include "runtime/backend/backend.h"  // pc_tensor, pc_layer
#include "runtime/model/shape/model_config.h"
#include "runtime/model/shape/tensor_binder.h"
#include "runtime/model/shape/tensor_names.h"

namespace pc {

// The tensors of a pc_model_desc: views that live as long as those of the binder.
struct Decoder {
  pc_tensor embedding{};           // [vocab_size, d_model]
  pc_tensor position_embedding{};  // [context_tokens, d_model], or no data
  pc_tensor ple_embedding{};       // [vocab_size, n_layers * d_ple], or no data
  pc_tensor ple_projection{};      // [n_layers * d_ple, d_model], or no data
  pc_tensor ple_norm{};            // [d_ple], or no data
  pc_tensor final_norm{};          // [d_model]
  pc_tensor final_norm_bias{};     // [d_model], or no data
  pc_tensor lm_head{};             // [vocab_size, d_model]; the embedding where weights are tied
  std::vector<pc_layer> layers;    // [n_layers]
  std::deque<std::vector<pc_ffn>> experts;    // that layers view
  std::deque<std::vector<pc_tensor>> latent;  // likewise: matrices of heads
};

// Errors: those of the binder.
Result<Decoder> bind_decoder(const ModelConfig& config, const TensorNames& names,
                             TensorBinder& tensors);

}  // namespace pc
