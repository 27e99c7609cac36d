// What tensors are called in a format, and how it stores what formats store in several ways.
//
// Values over static text. Threads: any.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "runtime/model/shape/rearranged.h"  // RowOrder

namespace pc {

// How matrices of all experts are stored where they are one tensor.
enum class Stacks {
  kPlain,   // [n_experts, rows, columns]
  kTurned,  // [n_experts, columns, rows], or MXFP4 in "_blocks" and "_scales"
  kEither,  // by its shape; the first where both fit, as the reference reads it
};

// Names without ".weight" and ".bias". "" = the format has no such tensor.
struct TensorNames {
  std::string_view layer_prefix = {};  // "model.layers.": then the layer's number and a dot
  std::string_view embedding = {}, positions = {}, final_norm = {}, head = {};
  std::string_view attn_norm = {}, q = {}, k = {}, v = {}, qkv = {}, q_norm = {}, k_norm = {};
  std::string_view o = {}, attn_post_norm = {};
  // Of recurrent layers. Some files have `in` and `gate` in one, or `write` and `decay`, by key
  // heads.
  std::string_view recurrent_in = {}, conv = {}, recurrent_out = {};
  std::string_view recurrent_gate = {}, recurrent_decay = {}, recurrent_write = {};
  // Mamba-2's is one matrix: of gates, of `in`, of `decay`.
  std::string_view in_and_gate = {}, write_and_decay = {}, gate_in_decay = {};
  std::string_view recurrent_norm = {};
  std::string_view decay_rate = {}, step_bias = {}, recurrent_skip = {};  // whole
  // Latent attention. Where kv_up is not "" it is k_up, turned, and v_up of each head by turns.
  std::string_view q_down = {}, q_down_norm = {}, q_up = {}, kv_down = {}, latent_norm = {};
  std::string_view kv_up = {}, k_up = {}, v_up = {};
  std::string_view sinks = {};  // whole, as it ends otherwise than others
  std::string_view ple_gate = {}, ple_out = {}, ple_norm = {};  // of per-layer embeddings
  std::string_view output_scale = {};                           // whole
  std::string_view ple_embedding = {}, ple_projection = {}, ple_projection_norm = {};  // of all
  std::string_view ffn_norm = {}, gate = {}, up = {}, gate_up = {}, down = {}, ffn_post_norm = {};
  std::string_view ffn_norm_ending = ".weight";
  // Mixtures. Matrices of experts are one tensor each, [n_experts, rows, columns], or those of an
  // expert stand behind `expert_prefix`, its number and a dot.
  std::string_view router = {}, choice_bias = {};  // the latter whole, since it is no ".weight"
  std::string_view expert_prefix = {};
  // Whole; of files that stack them, too.
  std::string_view stacked_gate_up = {}, stacked_up = {}, stacked_down = {};
  std::string_view expert_gate = {}, expert_up = {}, expert_gate_up = {}, expert_down = {};
  std::string_view shared_gate = {}, shared_up = {}, shared_gate_up = {}, shared_down = {};
  std::string_view ffn_gate = {};  // of how much the shared network counts
  std::string_view expert_norm = {}, made_norm = {}, ffn_made_norm = {};
  std::string_view router_norm = {}, expert_scales = {};  // whole
  std::string_view stack_ending = ".weight";              // of matrices that are all experts'
  std::string_view bias_ending = ".bias";                 // of their biases
  Stacks stacks = Stacks::kPlain;
  RowOrder gate_up_rows = RowOrder::kPlain;
  std::string_view optional_base = {};  // in front of all names; files may leave it out
  std::span<const std::pair<std::string_view, std::string_view>> other_prefixes = {};  // of names
  std::span<const std::string_view> passed_over = {};  // beginnings of names that are not computed
  bool transposed = false;    // matrices of blocks are stored [inputs, outputs]
  bool qkv_by_group = false;  // fused rows: for each K/V head its queries, its key, its value
};

extern const TensorNames kLlamaNames;  // transformers' names of Llama-shaped decoders
extern const TensorNames kGgufNames;   // GGUF's, for all architectures

}  // namespace pc
