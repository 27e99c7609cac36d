// What Gemmas share.
#pragma once

#include "runtime/model/families/family.h"

namespace pc {

// Norms around both halves of a block, embeddings scaled by sqrt(d_model), GELU
// by tanh.
void set_gemma(ModelConfig* out);

// config.json: caps, the scale of attention, and which layers slide: layer_types,
// else all but every `full_every`-th.
Status configure_gemma(JsonView config, std::uint32_t full_every, double attn_softcap,
                       double logit_softcap, ModelConfig* out);

// GGUF: the same; norms are stored with their offset added, and the scale of
// attention follows from the size: the largest model's is 1/sqrt(d_model / n_heads).
// Caps and window where the file gives none are `absent`'s.
struct GemmaDefaults {
  double attn_softcap = 0, logit_softcap = 0;
  std::uint32_t window = 0;
};
Status configure_gemma_gguf(const GgufKeys& keys, std::uint32_t full_every,
                            std::uint32_t layers_of_largest, const GemmaDefaults& absent,
                            ModelConfig* out);

// transformers' names: the second norm of a block has the feed-forward's name.
TensorNames gemma_names(const ModelConfig& config);

extern const std::span<const std::string_view> kGemmaHonoured;

}  // namespace pc
