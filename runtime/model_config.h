// config.json of a Hugging Face folder, in both of its dialects (transformers
// up to 4 and from 5 on), read from untrusted text.
//
// What is common to all families is read here; what only one has, its file in
// runtime/families adds. A field that changes the computation and is not
// honoured is refused by its name; fields that only guide training or
// book-keeping are ignored. Pure. Threads: values, thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/json.h"
#include "runtime/rope.h"

namespace pc {

struct ModelConfig {
  std::string architecture;  // "LlamaForCausalLM"
  std::uint32_t n_layers = 0, d_model = 0, n_heads = 0, n_kv_heads = 0, head_dim = 0;
  std::uint32_t d_ffn = 0, vocab_size = 0;
  std::uint32_t context_tokens = 0;  // max_position_embeddings
  double norm_eps = 1e-6;
  bool tied_embeddings = false;
  RopeConfig rope;
  std::vector<std::int32_t> eos;
  std::optional<std::int32_t> bos;

  // Set by the family.
  bool qkv_bias = false, o_bias = false, ffn_bias = false, qk_norm = false;
  std::vector<std::uint32_t> windows;  // [n_layers] keys a query sees, itself included; 0 = all
};

// The name under "architectures".
Result<std::string> read_architecture(JsonView config);

// Everything but what the family sets. `default_head_dim` counts where the
// file gives no head_dim; 0 = d_model / n_heads.
Result<ModelConfig> read_model_config(JsonView config, std::uint32_t default_head_dim);

// Ids that end a generation: one number or a list; {} if there are none.
Result<std::vector<std::int32_t>> read_eos(JsonView config, std::uint32_t vocab_size);

// "sliding_window": the keys a query sees, itself included; 0 where the file
// says null, `absent` where it says nothing.
Result<std::uint32_t> read_window(JsonView config, std::uint32_t absent);

// "layer_types" of transformers 5: true where a layer's attention slides;
// nothing when the field is absent.
Result<std::optional<std::vector<bool>>> read_sliding_layers(JsonView config,
                                                             std::uint32_t n_layers);

}  // namespace pc
