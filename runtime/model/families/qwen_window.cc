#include "runtime/model/families/qwen_window.h"

namespace pc {
namespace {

// What the reference assumes where config.json is silent.
constexpr std::uint32_t kDefaultWindow = 4096;
constexpr std::int64_t kDefaultFullLayers = 28;

}  // namespace

Status configure_qwen_window(JsonView config, ModelConfig* out) {
  PC_TRY(const bool used, config.boolean_or("use_sliding_window", false));
  std::uint32_t window = 0;  // one that is not used may be anything: transformers 5 writes 0
  if (used) {
    PC_TRY(window, read_window(config, kDefaultWindow));
  }
  PC_TRY(const std::int64_t full_layers,
         config.integer_or("max_window_layers", kDefaultFullLayers));
  PC_TRY(const auto sliding, read_sliding_layers(config, out->n_layers));
  for (std::uint32_t i = 0; i < out->n_layers; ++i) {
    const bool slides = sliding ? (*sliding)[i] : window != 0 && i >= full_layers;
    if (slides && window == 0) {
      return config.error(Code::kUnsupported, "layer_types asks for sliding attention in layer " +
                                                  std::to_string(i) + ", but no window is in use");
    }
    out->windows[i] = slides ? window : 0;
  }
  return ok();
}

}  // namespace pc
