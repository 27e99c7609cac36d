// From a checkpoint's tensors to the backend's description of a decoder. Which parts
// a model has follows from its ModelConfig; what they are called, from its format's
// table of names.
//
// Matrices stay where they lie, and fused ones are cut into views. A matrix is copied
// only if the format stores it transposed, or with its rows interleaved. Threads:
// values, thread-compatible.
#pragma once

#include <deque>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "runtime/backend/backend.h"  // pc_tensor, pc_layer
#include "runtime/model/shape/model_config.h"
#include "runtime/model/shape/tensor_binder.h"

namespace pc {

// Names without ".weight" and ".bias". "" = the format has no such tensor.
struct TensorNames {
  std::string_view layer_prefix = {};  // "model.layers.": then the layer's number and a dot
  std::string_view embedding = {}, positions = {}, final_norm = {}, head = {};
  std::string_view attn_norm = {}, q = {}, k = {}, v = {}, qkv = {}, q_norm = {}, k_norm = {};
  std::string_view o = {}, attn_post_norm = {};
  std::string_view recurrent_in = {}, conv = {}, recurrent_out = {};  // of recurrent layers
  // Latent attention. Where kv_up is not "" it is k_up, turned, and v_up of each head by turns.
  std::string_view q_down = {}, q_down_norm = {}, q_up = {}, kv_down = {}, latent_norm = {};
  std::string_view kv_up = {}, k_up = {}, v_up = {};
  std::string_view sinks = {};  // whole, as it ends otherwise than others
  std::string_view ple_gate = {}, ple_out = {}, ple_norm = {};  // of per-layer embeddings
  std::string_view output_scale = {};                           // whole
  std::string_view ple_embedding = {}, ple_projection = {}, ple_projection_norm = {};  // of all
  std::string_view ffn_norm = {}, gate = {}, up = {}, gate_up = {}, down = {}, ffn_post_norm = {};
  // Mixtures. Matrices of experts are one tensor each, [n_experts, rows, columns], or those of an
  // expert stand behind `expert_prefix`, its number and a dot.
  std::string_view router = {}, choice_bias = {};  // the latter whole, since it is no ".weight"
  std::string_view expert_prefix = {};
  std::string_view expert_gate = {}, expert_up = {}, expert_gate_up = {}, expert_down = {};
  std::string_view shared_gate = {}, shared_up = {}, shared_gate_up = {}, shared_down = {};
  std::string_view ffn_gate = {};  // of how much the shared network counts
  std::string_view expert_norm = {}, made_norm = {}, ffn_made_norm = {};
  std::string_view router_norm = {}, expert_scales = {};  // whole
  std::string_view stack_ending = ".weight";              // of matrices that are all experts'
  std::string_view optional_base = {};  // in front of all names; files may leave it out
  std::span<const std::pair<std::string_view, std::string_view>> other_prefixes = {};  // of names
  std::span<const std::string_view> passed_over = {};  // beginnings of names that are not computed
  bool transposed = false;    // matrices of blocks are stored [inputs, outputs]
  bool qkv_by_group = false;  // fused rows: for each K/V head its queries, its key, its value
};

extern const TensorNames kLlamaNames;  // transformers' names of Llama-shaped decoders
extern const TensorNames kGgufNames;   // GGUF's, for all architectures

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
