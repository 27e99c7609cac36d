// What GGUF's metadata says of a model's mixtures of experts: the keys that all architectures
// share. Read from untrusted text.
//
// Pure. Threads: values, thread-compatible.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "runtime/model/shape/gguf_config.h"  // GgufKeys
#include "runtime/model/shape/mixture_config.h"

namespace pc {

// Nothing where expert_count is 0 or absent. d_ffn: the
// width of experts where no key says it. `routing` is the file's, where it says one, else that of
// the architecture, as `normalised` is.
struct GgufRouting {
  pc_routing routing = PC_ROUTING_SOFTMAX;
  bool normalised = true;
};
Result<MixtureConfig> read_gguf_mixture(const GgufKeys& keys, const GgufRouting& absent,
                                        std::uint32_t n_layers, std::uint32_t d_ffn);

}  // namespace pc
