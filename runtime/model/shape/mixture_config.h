// What a model's files say of its mixtures of experts, in one form for all families and both
// formats (GGUF: gguf_mixture.h). Read from untrusted text.
//
// Pure. Threads: values, thread-compatible.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "runtime/backend/backend.h"  // pc_routing
#include "runtime/json/json.h"

namespace pc {

// Far above every published model.
inline constexpr std::uint32_t kWidestNetwork = 1 << 24, kMostConfiguredExperts = 1 << 16;

// pc_mixture, and the sizes of its networks.
struct MixtureConfig {
  std::uint32_t n_experts = 0;  // 0: no layer has a mixture
  std::uint32_t n_used = 0;
  std::uint32_t d_expert = 0;  // width of an expert's network
  std::uint32_t d_shared =
      0;                      // of the own network of layers that have a mixture; 0: they have none
  bool shared_gated = false;  // that network counts by a gate
  pc_routing routing = PC_ROUTING_SOFTMAX;
  bool normalised = false;
  double scale = 1;
  std::uint32_t n_groups = 1, n_groups_used = 1, group_best = 1;
  bool router_bias = false, choice_bias = false, expert_bias = false;
  // pc_mixture: what is normed by itself, the factor of logits, and whether experts have factors.
  bool own_norms = false, expert_scales = false;
  double router_scale = 1;
  std::vector<bool> layers;  // [n_layers] have a mixture
};

// How a family's config.json spells it. "" = the field does not exist there.
struct MixtureFields {
  // "": num_experts or num_local_experts: transformers 5 writes the other name than it did.
  std::string_view experts = "";
  std::string_view used = "num_experts_per_tok";
  std::string_view d_expert = "moe_intermediate_size";
  std::string_view d_shared = "";      // absent: 0
  std::string_view n_shared = "";      // or so many experts' widths; absent: 0
  std::string_view normalised = "";    // absent: false
  std::string_view sparse_step = "";   // every so-manieth layer has one; absent: all
  std::string_view dense_layers = "";  // a list of layers that have none
  std::string_view n_dense = "";       // so many layers have none, the first ones
  std::string_view scale = "";         // absent: 1
  std::string_view n_groups = "", n_groups_used = "";  // absent: 1
};

// Errors: kCorrupt and kUnsupported, by the field's name.
Result<MixtureConfig> read_mixture_config(JsonView config, const MixtureFields& fields,
                                          std::uint32_t n_layers);

// For errors: what a field that says so does.
std::string too_many_experts(std::uint32_t n_used, std::uint32_t n_experts);

}  // namespace pc
