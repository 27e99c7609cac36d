#include "runtime/model/shape/gguf_mixture.h"

#include <algorithm>
#include <string>

namespace pc {
namespace {

// GGUF's numbers of how logits become scores (gguf's ExpertGatingFuncType).
constexpr std::uint32_t kGgufUnsaid = 0, kGgufSoftmax = 1, kGgufSigmoid = 2;

Status read_gguf_routing(const GgufKeys& keys, const GgufRouting& absent, MixtureConfig* out) {
  const GgufMetadata& m = keys.metadata();
  PC_TRY(const std::uint64_t function, m.integer_or(keys.full("expert_gating_func"), kGgufUnsaid));
  if (function > kGgufSigmoid) {
    return keys.error(
        Code::kUnsupported, "expert_gating_func",
        "is " + std::to_string(function) + "; softmax (1) and sigmoid (2) are computed");
  }
  out->routing = function == kGgufUnsaid    ? absent.routing
                 : function == kGgufSoftmax ? PC_ROUTING_SOFTMAX
                                            : PC_ROUTING_SIGMOID;
  PC_TRY(out->normalised, m.boolean_or(keys.full("expert_weights_norm"), absent.normalised));
  PC_TRY(out->scale, keys.number_or("expert_weights_scale", 1));
  if (out->scale == 0) out->scale = 1;  // how some writers say "none"
  return ok();
}

Status read_gguf_groups(const GgufKeys& keys, MixtureConfig* out) {
  PC_TRY(const std::uint32_t n_groups, keys.count_or("expert_group_count", kWidestNetwork, 0));
  out->n_groups = std::max(n_groups, 1u);
  PC_TRY(const std::uint32_t n_used, keys.count_or("expert_group_used_count", kWidestNetwork, 0));
  out->n_groups_used = n_used == 0 ? out->n_groups : n_used;
  out->group_best = out->routing == PC_ROUTING_SIGMOID ? 2 : 1;
  return ok();
}

}  // namespace

Result<MixtureConfig> read_gguf_mixture(const GgufKeys& keys, const GgufRouting& absent,
                                        std::uint32_t n_layers, std::uint32_t d_ffn) {
  MixtureConfig out;
  PC_TRY(const double count, keys.number_or("expert_count", 0));
  if (count == 0) return out;
  PC_TRY(out.n_experts, keys.extent("expert_count", kMostConfiguredExperts));
  PC_TRY(out.n_used, keys.extent("expert_used_count", kMostConfiguredExperts));
  if (out.n_used > out.n_experts)
    return keys.error(Code::kCorrupt, "expert_used_count",
                      too_many_experts(out.n_used, out.n_experts));
  PC_TRY(out.d_expert, keys.extent_or("expert_feed_forward_length", kWidestNetwork, d_ffn));
  PC_TRY(const std::uint32_t n_shared, keys.count_or("expert_shared_count", kWidestNetwork, 0));
  const std::uint64_t shared = std::uint64_t{n_shared} * out.d_expert;
  if (shared > kWidestNetwork)
    return keys.error(Code::kUnsupported, "expert_shared_count",
                      "is " + std::to_string(n_shared) + ", which is too wide");
  PC_TRY(out.d_shared, keys.count_or("expert_shared_feed_forward_length", kWidestNetwork,
                                     static_cast<std::uint32_t>(shared)));
  PC_CHECK_OK(read_gguf_routing(keys, absent, &out));
  PC_CHECK_OK(read_gguf_groups(keys, &out));
  PC_TRY(const std::uint32_t n_dense,
         keys.count_or("leading_dense_block_count", kWidestNetwork, 0));
  for (std::uint32_t i = 0; i < n_layers; ++i) out.layers.push_back(i >= n_dense);
  return out;
}

}  // namespace pc
