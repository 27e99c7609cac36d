#include "runtime/model/hybrids/hybrid.h"

#include <string>

namespace pc {

bool heads_fit(const RecurrentConfig& r) {
  constexpr std::uint64_t kMostNumbers = 1 << 28;
  return r.n_heads % r.n_key_heads == 0 && std::uint64_t{r.n_heads} * r.d_v <= kMostNumbers &&
         std::uint64_t{r.n_key_heads} * r.d_k <= kMostNumbers;
}

Result<std::uint32_t> read_count(JsonView config, std::string_view key, std::int64_t absent,
                                 std::int64_t most) {
  PC_TRY(const std::int64_t n, config.integer_or(key, absent));
  if (n >= 1 && n <= most) return static_cast<std::uint32_t>(n);
  return config.error(Code::kUnsupported, std::string(key) + " is " + std::to_string(n));
}

Result<std::vector<bool>> read_layer_kinds(JsonView list, const LayerKinds& kinds,
                                           std::uint32_t n_layers) {
  if (!list.is_array() || list.size() != n_layers)
    return list.error(Code::kCorrupt, "is not a list of " + std::to_string(n_layers) + " layers");
  std::vector<bool> recurrent;
  for (std::size_t i = 0; i < n_layers; ++i) {
    PC_TRY(const std::string_view kind, list.at(i).string());
    recurrent.push_back(kind == kinds.recurrent || kind == kinds.other_recurrent);
    if (recurrent.back() || kind == kinds.attention || kind == kinds.other_attention) continue;
    return list.at(i).error(Code::kUnsupported, "is \"" + std::string(kind) + "\"; " +
                                                    std::string(kinds.recurrent) + " and " +
                                                    std::string(kinds.attention) + " are computed");
  }
  return recurrent;
}

Status check_silu(JsonView config, const ModelConfig& read) {
  if (read.activation == PC_ACTIVATION_SILU) return ok();
  return config.error(Code::kUnsupported,
                      "hidden_act is not silu, which recurrent layers are computed with");
}

}  // namespace pc
