// Which layers of Qwen2 and Qwen3 attend through a window.
#pragma once

#include "base/status.h"
#include "runtime/json/json.h"
#include "runtime/model/shape/model_config.h"

namespace pc {

// From use_sliding_window, sliding_window, max_window_layers and layer_types.
Status configure_qwen_window(JsonView config, ModelConfig* out);

}  // namespace pc
