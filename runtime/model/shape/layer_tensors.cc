#include "runtime/model/shape/layer_tensors.h"

namespace pc {

Status LayerTensors::network(const ModelConfig& config, const std::string& prefix,
                             const FfnNames& names, std::uint32_t width, pc_ffn* ffn) {
  const auto full = [&](std::string_view name) { return prefix + std::string(name); };
  if (!names.gate_up.empty()) {
    PC_TRY(const pc_tensor both, matrix(full(names.gate_up), 2 * width, config.d_model));
    ffn->gate = rows_of(both, 0, width);
    ffn->up = rows_of(both, width, width);
  } else {
    if (config.gated) {
      PC_CHECK_OK(linear(full(names.gate), width, config.d_model, config.ffn_bias, &ffn->gate,
                         &ffn->b_gate));
    }
    PC_CHECK_OK(
        linear(full(names.up), width, config.d_model, config.ffn_bias, &ffn->up, &ffn->b_up));
  }
  return linear(full(names.down), config.d_model, width, config.ffn_bias, &ffn->down, &ffn->b_down);
}

}  // namespace pc
