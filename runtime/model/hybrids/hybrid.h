// What the families with recurrent layers read alike of their files.
//
// Pure. Threads: any.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "runtime/json/json.h"
#include "runtime/model/shape/model_config.h"

namespace pc {

inline constexpr std::uint32_t kMostStateHeads = 1 << 16, kMostConvolutionTaps = 64;

// Heads of values share those of keys evenly, and numbers of all stay far within 32 bits.
// Precondition: there are heads of both.
bool heads_fit(const RecurrentConfig& recurrent);

// An integer in [1, most]; `absent` where the file says nothing.
Result<std::uint32_t> read_count(JsonView config, std::string_view key, std::int64_t absent,
                                 std::int64_t most);

// A list of kinds of layers, one each: true where the layer is recurrent. The kinds have one name
// or two, the first that of released files.
struct LayerKinds {
  std::string_view recurrent, attention;
  std::string_view other_recurrent = {}, other_attention = {};
};
Result<std::vector<bool>> read_layer_kinds(JsonView list, const LayerKinds& kinds,
                                           std::uint32_t n_layers);

// Convolutions and gates of such layers are computed with SiLU alone.
Status check_silu(JsonView config, const ModelConfig& read);

}  // namespace pc
