// SmolLM3: Llama with layers that have no positions.
#include <array>

#include "runtime/model/families/family.h"

namespace pc {
namespace {

constexpr std::array<std::string_view, 1> kHonoured{"no_rope_layer_interval"};
constexpr std::int64_t kDefaultInterval = 4;  // every fourth layer, where the file is silent

void drop_ropes(std::int64_t interval, ModelConfig* out) {
  for (std::uint32_t i = 0; i < out->n_layers; ++i) {
    if ((i + 1) % interval == 0) out->layer_ropes[i] = PC_NO_ROPE;
  }
}

Status configure(JsonView config, ModelConfig* out) {
  PC_TRY(const bool bias, config.boolean_or("attention_bias", false));
  out->set_qkv_bias(bias);
  out->o_bias = bias;
  PC_TRY(out->ffn_bias, config.boolean_or("mlp_bias", false));
  PC_TRY(const std::int64_t interval,
         config.integer_or("no_rope_layer_interval", kDefaultInterval));
  if (interval < 1) return config.error(Code::kCorrupt, "no_rope_layer_interval is not positive");
  const auto list = config.find("no_rope_layers");  // 1: rotated
  if (!list) {
    drop_ropes(interval, out);
  } else if (!list->is_array() || list->size() != out->n_layers) {
    return list->error(Code::kCorrupt, "is not a list of all layers");
  } else {
    for (std::uint32_t i = 0; i < out->n_layers; ++i) {
      PC_TRY(const std::int64_t rotated, list->at(i).integer_in(0, 1));
      if (rotated == 0) out->layer_ropes[i] = PC_NO_ROPE;
    }
  }
  PC_TRY(const bool slides, config.boolean_or("use_sliding_window", false));
  if (slides) return config.error(Code::kUnsupported, "use_sliding_window is not computed");
  return ok();
}

// GGUF does not say it: all published models leave out every fourth.
Status configure_gguf(const GgufKeys&, ModelConfig* out) {
  out->rope_interleaved = true;
  drop_ropes(kDefaultInterval, out);
  return ok();
}

}  // namespace

extern const Family kSmolLm3{
    .name = "smollm3",
    .architecture = "SmolLM3ForCausalLM",
    .fields = {.default_theta = 2000000, .default_tied = true, .honoured = kHonoured},
    .configure = configure,
    .names = llama_names,
    .gguf_architecture = "smollm3",
    .configure_gguf = configure_gguf,
    .gguf_names = gguf_names};

}  // namespace pc
