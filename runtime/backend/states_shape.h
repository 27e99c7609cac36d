// The shape of a model's states: which of its layers have keys and values, and of what size.
//
// Pure. Threads: any.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "modules/kv.h"
#include "runtime/backend/backend.h"

namespace pc {

// Layers without wk attend to the states of an earlier one.
inline bool has_states(const pc_layer& layer) {
  return layer.wk.data != nullptr;
}

// The layer that makes the states of that number. Precondition: there is one.
inline const pc_layer& layer_of_states(const pc_model_desc& desc, std::uint32_t states) {
  const pc_layer* layer = desc.layers;
  for (;; ++layer)
    if (has_states(*layer) && states-- == 0) return *layer;
}

// Numbers of the type `type`, of the layers that have states, in order.
inline KvGeometry states_shape(const pc_model_desc& desc, KvType type) {
  std::vector<KvLayer> layers;
  for (const pc_layer& layer : std::span(desc.layers, desc.n_layers))
    if (has_states(layer)) layers.push_back({layer.n_kv_heads, layer.head_dim});
  return {std::move(layers), type};
}

}  // namespace pc
