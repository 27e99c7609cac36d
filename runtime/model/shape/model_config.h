// What a model's files say about its shape and its computation, in one form for
// all families and both formats: config.json of a Hugging Face folder, in both
// of its dialects (transformers up to 4 and from 5 on), and GGUF's metadata
// (gguf_config.h). Read from untrusted text.
//
// What is common to families is read here; what only one has, its file in
// runtime/model/families adds. A field that changes the computation and is not
// honoured is refused by its name; fields that only guide training or
// book-keeping are ignored. Pure. Threads: values, thread-compatible.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "runtime/backend/backend.h"  // pc_norm, pc_activation, PC_NO_ROPE
#include "runtime/json/json.h"
#include "runtime/model/shape/mixture_config.h"
#include "runtime/model/shape/rope.h"

namespace pc {

// RMS norm of queries and keys: a head, or all at once; before rotation, or behind it.
enum class HeadNorm { kNone, kEach, kAll, kEachRotated };

struct HeadsConfig {
  std::uint32_t n_heads = 0, n_kv_heads = 0, head_dim = 0;
};

// Multi-head latent attention (pc_latent): the parts of heads as files have them. n_kv_heads and
// head_dim are then those of the latent: set_latent().
struct LatentConfig {
  std::uint32_t dims = 0;  // 0: attention is of the usual kind
  std::uint32_t rotary = 0, nope = 0;
  std::uint32_t value = 0;              // of a head's values
  std::uint32_t q_rank = 0;             // of queries that are made in two steps; 0: in one
  std::optional<double> norm_eps = {};  // of its norms, where not the model's
};

// Layers that keep a state: pc_recurrent, and what files store of it.
struct RecurrentConfig {
  pc_recurrence kind = PC_RECURRENCE_NONE;
  std::uint32_t n_channels = 0, n_taps = 0;
  std::uint32_t n_heads = 0, n_key_heads = 0, d_k = 0, d_v = 0, norm_dims = 0;
  bool keys_by_turns = false;
  bool conv_bias = false;
  bool a_is_log = false;                                                     // the file has log(-a)
  float step_least = 0, step_most = std::numeric_limits<float>::infinity();  // of Mamba-2
  // Of Mamba-2: factors of what the parts of its first product make.
  float gate_scale = 1, x_scale = 1, k_scale = 1, q_scale = 1, decay_scale = 1;
  bool normed = true;
  bool beside_attention = false;  // which such layers have, too
  std::vector<bool> layers = {};  // [n_layers]; {}: there are none

  std::uint32_t n_keys() const { return n_key_heads * d_k; }
  std::uint32_t n_values() const { return n_heads * d_v; }
};

struct ModelConfig {
  std::string architecture;  // "LlamaForCausalLM"; GGUF: "llama"
  std::uint32_t n_layers = 0, d_model = 0, n_heads = 0, n_kv_heads = 0, head_dim = 0;
  std::uint32_t d_ffn = 0, vocab_size = 0;
  // Layers that files have behind the n_layers, which guess at tokens behind the next one: they are
  // not computed, and their tensors are passed over.
  std::uint32_t n_further_layers = 0;
  std::uint32_t context_tokens = 0;  // max_position_embeddings
  double norm_eps = 1e-6;
  bool tied_embeddings = false;
  bool tied_unsaid = false;  // or said both ways, of several media: tied where no head is there
  pc_activation activation = PC_ACTIVATION_SILU;
  std::vector<std::int32_t> eos;
  std::optional<std::int32_t> bos;

  // Positions. A model without any of these sees no order but causality.
  std::vector<RopeConfig> ropes;
  std::vector<std::uint32_t> layer_ropes;  // [n_layers] index into ropes, or PC_NO_ROPE
  bool rope_interleaved = false;
  std::vector<float> alibi_slopes;  // [n_heads], or {}
  bool learned_positions = false;

  // Where layers differ from what is said above of all: {}, or [n_layers].
  std::vector<HeadsConfig> layer_heads;
  std::vector<std::uint32_t> layer_d_ffn;
  std::vector<std::uint32_t> states_of;  // the layer whose keys and values each attends to
  std::vector<bool> attending;           // layers that may attend; {}: all, see attends()
  std::vector<bool> keys_as_values;      // no projection of values: keys, before norms and rotation
  bool norm_values = false;
  bool output_scales = false;  // each layer's is in a tensor
  std::uint32_t d_ple = 0;     // width of per-layer embeddings; 0: there are none

  std::vector<std::uint32_t> windows;  // [n_layers] keys a query sees, itself included; 0 = all

  LatentConfig latent;
  RecurrentConfig recurrent;
  MixtureConfig mixture;  // where some layers have one; d_ffn is then that of the others

  // Set by the family: which parts its blocks have (pc_layer, pc_model_desc).
  pc_norm norm = PC_NORM_RMS;
  bool norm_bias = false;
  float norm_offset = 0;
  bool pre_norms = true, post_norms = false;
  bool gated = true;
  bool parallel = false, parallel_norms = false;  // a norm of its own for each half
  bool q_bias = false, k_bias = false, v_bias = false, o_bias = false, ffn_bias = false;
  bool fused_qkv = false;  // GGUF: projections of a layer are one tensor
  HeadNorm head_norm = HeadNorm::kNone;
  bool sinks = false;
  bool q_gated = false;
  double embedding_scale = 1, residual_scale = 1, logit_scale = 1;
  double attn_out_scale = 1, recurrent_out_scale = 1, ffn_out_scale = 1, ffn_gate_scale = 1;
  std::optional<double> attn_scale;  // 1/sqrt(head_dim) where absent
  double query_growth = 0;           // of queries, every growth_positions; 0: none
  std::uint32_t growth_positions = 0;
  double attn_softcap = 0, logit_softcap = 0, qkv_clamp = 0;

  bool has_mixture(std::uint32_t layer) const {
    return mixture.n_experts != 0 && mixture.layers[layer];
  }
  // Width of the layer's own network; 0: it has none.
  std::uint32_t d_own_ffn(std::uint32_t layer) const {
    if (has_mixture(layer)) return mixture.d_shared;
    return layer_d_ffn.empty() ? d_ffn : layer_d_ffn[layer];
  }
  HeadsConfig heads(std::uint32_t layer) const {
    return layer_heads.empty() ? HeadsConfig{n_heads, n_kv_heads, head_dim} : layer_heads[layer];
  }
  // Size of the heads that a rope turns.
  std::uint32_t rope_head_dim(std::uint32_t rope) const {
    for (std::uint32_t i = 0; i < n_layers; ++i)
      if (layer_ropes[i] == rope) return heads(i).head_dim;
    return head_dim;
  }
  bool is_recurrent(std::uint32_t layer) const {
    return !recurrent.layers.empty() && recurrent.layers[layer];
  }
  bool attends(std::uint32_t layer) const {
    if (is_recurrent(layer) && !recurrent.beside_attention) return false;
    return attending.empty() || attending[layer];
  }
  // Keys and values of its own.
  bool has_states(std::uint32_t layer) const {
    if (!attends(layer)) return false;
    return states_of.empty() || states_of[layer] == layer;
  }

  // All heads' keys and values are one latent, behind the part that is rotated; `scale` of scores
  // besides the square root of a head's own dimensions.
  void set_latent(const LatentConfig& parts, double scale);

  void set_qkv_bias(bool present) { q_bias = k_bias = v_bias = present; }
};

// How a family's config.json spells what others call as the defaults say.
// "" = the field does not exist there.
struct ConfigFields {
  std::string_view layers = "num_hidden_layers";
  std::string_view layer_list = "";  // as long as there are layers, where no number says it
  std::string_view d_model = "hidden_size";
  std::string_view heads = "num_attention_heads";
  std::string_view kv_heads = "num_key_value_heads";
  std::string_view d_ffn = "intermediate_size";  // absent or null: 4 * d_model where optional
  bool d_ffn_optional = false;
  std::string_view context = "max_position_embeddings";
  std::string_view norm_eps = "rms_norm_eps";
  std::string_view activation = "hidden_act";
  double default_norm_eps = 1e-6;
  double default_theta = 10000;
  std::uint32_t default_head_dim = 0;  // where the file gives none; 0 = d_model / n_heads
  std::uint32_t default_context = 0;   // 0: the file must say it; so of those that follow
  std::uint32_t default_heads = 0, default_vocab = 0;
  std::uint32_t default_kv_heads = 0;  // 0: as many as heads
  pc_activation default_activation = PC_ACTIVATION_SILU;
  bool default_tied = false;
  bool one_rope = true;                             // read rope_parameters for all layers alike
  std::span<const std::string_view> honoured = {};  // fields that change the computation, read by
                                                    // the family
};

// The name under "architectures".
Result<std::string> read_architecture(JsonView config);

// Everything but the architecture's name and what the family sets.
Result<ModelConfig> read_model_config(JsonView config, const ConfigFields& fields);

// What describes the text of a model of several media: "text_config"; the root in the dialect that
// does not nest it.
JsonView text_config(JsonView root);

// Of such a model, what stands beside its text: whether embeddings are tied, where the text does
// not say it, and tokens. Errors also: kUnsupported for what changes the computation.
Status read_beside_text(JsonView root, const ConfigFields& fields, ModelConfig* out);

// What must hold however the shape was read: heads, sizes, limits.
// `where` names the place in the error.
Status check_shape(const std::string& where, const ModelConfig& config);

// "gelu_new" -> PC_ACTIVATION_GELU_TANH; nothing for a name that is not computed.
std::optional<pc_activation> find_activation(std::string_view name);

// Ids that end a generation: one number or a list; {} if there are none.
Result<std::vector<std::int32_t>> read_eos(JsonView config, std::uint32_t vocab_size);

// "sliding_window": the keys a query sees, itself included; 0 where the file
// says null, `absent` where it says nothing.
Result<std::uint32_t> read_window(JsonView config, std::uint32_t absent);

// Is the member there, and null? find() takes that for absent, but the
// architectures' defaults do not.
Result<bool> says_null(JsonView config, std::string_view key);

// "layer_types" of transformers 5: true where a layer's attention slides;
// nothing when the field is absent.
Result<std::optional<std::vector<bool>>> read_sliding_layers(JsonView config,
                                                             std::uint32_t n_layers);

// What many families do where a file is silent: all layers slide but every `full_every`-th.
std::vector<bool> sliding_but_every(std::uint32_t n_layers, std::uint32_t full_every);

// The slopes of ALiBi (Press et al. 2022): a geometric sequence that ends at
// 2^-max_bias; where n_heads is no power of two, that of the next power, its
// odd entries first.
std::vector<float> alibi_slopes(std::uint32_t n_heads, double max_bias);

}  // namespace pc
