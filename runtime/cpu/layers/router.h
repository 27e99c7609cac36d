// Which experts of a mixture a token goes to, and how much each counts (pc_mixture of
// runtime/backend/backend.h; Shazeer et al. 2017, arXiv 1701.06538; groups and biases of choice:
// DeepSeek-V3, arXiv 2412.19437).
//
// Pure functions. Threads: any.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/backend/backend.h"

namespace pc {

// Larger mixtures are refused when a model opens. DeepSeek V3 has 256 experts, Kimi K2 384.
inline constexpr std::uint32_t kMostExperts = 1024;

struct ExpertChoice {
  std::uint32_t expert;
  float weight;
};

// logits: [n_experts], the router's product with the token, without router_bias; overwritten.
// chosen: [n_used], the best first. The mixture's vectors are f32. Logits that are not finite give
// weights that are not.
void choose_experts(const pc_mixture& mixture, std::span<float> logits,
                    std::span<ExpertChoice> chosen);

}  // namespace pc
