#include "runtime/model/hybrids/mamba2.h"

#include <string>

#include "runtime/model/hybrids/hybrid.h"

namespace pc {
namespace {

// Precondition: heads fit each other.
RecurrentConfig completed(RecurrentConfig r) {
  r.kind = PC_RECURRENCE_MAMBA2;
  r.n_channels = r.n_values() + 2 * r.n_keys();
  r.norm_dims = r.n_values() / r.n_key_heads;
  return r;
}

bool shares(std::uint64_t n_values, RecurrentConfig* r) {
  r->d_v = static_cast<std::uint32_t>(n_values / r->n_heads);
  return n_values % r->n_heads == 0 && r->d_v != 0 && heads_fit(*r);
}

}  // namespace

Result<RecurrentConfig> read_mamba2(JsonView config, const Mamba2Fields& fields,
                                    std::uint64_t n_values) {
  PC_TRY(const bool bias, config.boolean_or("mamba_proj_bias", false));
  if (bias)
    return config.error(Code::kUnsupported,
                        "mamba_proj_bias gives projections biases, which are not computed");
  RecurrentConfig r{.a_is_log = true};
  PC_TRY(r.conv_bias, config.boolean_or(fields.conv_bias, true));
  PC_TRY(r.n_taps, read_count(config, fields.taps, 4, kMostConvolutionTaps));
  PC_TRY(r.n_heads, read_count(config, fields.heads, 128, kMostStateHeads));
  PC_TRY(r.n_key_heads, read_count(config, fields.groups, fields.default_groups, kMostStateHeads));
  PC_TRY(r.d_k, read_count(config, fields.d_k, fields.default_d_k, kMostStateHeads));
  if (!shares(n_values, &r))
    return config.error(Code::kUnsupported,
                        std::string(fields.heads) + " do not share the layer evenly");
  return completed(std::move(r));
}

Result<RecurrentConfig> read_gguf_mamba2(const GgufKeys& keys, std::uint32_t n_layers) {
  RecurrentConfig r;
  PC_TRY(r.n_taps, keys.extent("ssm.conv_kernel", kMostConvolutionTaps));
  PC_TRY(r.n_heads, keys.extent("ssm.time_step_rank", kMostStateHeads));
  PC_TRY(r.n_key_heads, keys.extent("ssm.group_count", kMostStateHeads));
  PC_TRY(r.d_k, keys.extent("ssm.state_size", kMostStateHeads));
  PC_TRY(const std::uint32_t n_values, keys.extent("ssm.inner_size", 1 << 24));
  if (!shares(n_values, &r))
    return keys.error(Code::kUnsupported, "ssm.time_step_rank",
                      "heads do not share ssm.inner_size evenly");
  for (std::uint32_t i = 0; i < n_layers && !r.conv_bias; ++i)
    r.conv_bias = keys.has_tensor("blk." + std::to_string(i) + ".ssm_conv1d.bias");
  return completed(std::move(r));
}

Status check_step_limits(JsonView config) {
  const auto limits = config.find("time_step_limit");
  if (!limits || !limits->is_array()) return ok();
  for (std::size_t i = 0; i < limits->size(); ++i) {
    if (!limits->at(i).is_number()) continue;  // how transformers spells infinity
    PC_TRY(const double limit, limits->at(i).number());
    if (i == 0 && limit == 0) continue;
    return limits->error(Code::kUnsupported, "cuts steps, which is not computed for this family");
  }
  return ok();
}

void name_mamba2(TensorNames* names) {
  names->conv = "mamba.conv1d";
  names->gate_in_decay = "mamba.in_proj";
  names->decay_rate = "mamba.A_log";
  names->step_bias = "mamba.dt_bias";
  names->recurrent_skip = "mamba.D";
  names->recurrent_norm = "mamba.norm";
  names->recurrent_out = "mamba.out_proj";
}

void name_gguf_mamba2(TensorNames* names) {
  names->conv = "ssm_conv1d";
  names->gate_in_decay = "ssm_in";
  names->decay_rate = "ssm_a";
  names->step_bias = "ssm_dt.bias";
  names->recurrent_skip = "ssm_d";
  names->recurrent_norm = "ssm_norm";
  names->recurrent_out = "ssm_out";
}

void drop_ropes(ModelConfig* out) {
  out->ropes.clear();
  out->layer_ropes.assign(out->n_layers, PC_NO_ROPE);
}

}  // namespace pc
