#include "runtime/model/shape/mixture_binder.h"

#include <array>
#include <string>
#include <vector>

#include "runtime/model/shape/layer_tensors.h"
#include "runtime/model/shape/rearranged.h"

namespace pc {
namespace {

class MixtureBinder {
 public:
  MixtureBinder(const ModelConfig& config, LayerTensors& tensors)
      : c_(config), names_(tensors.names()), tensors_(tensors) {}

  Status bind(std::vector<pc_ffn>* experts, pc_mixture* out) {
    const MixtureConfig& m = c_.mixture;
    pc_mixture& mixture = *out;
    mixture.n_experts = m.n_experts;
    mixture.n_used = m.n_used;
    mixture.routing = m.routing;
    mixture.normalised = m.normalised;
    mixture.scale = static_cast<float>(m.scale);
    mixture.router_scale = static_cast<float>(m.router_scale);
    mixture.n_groups = m.n_groups;
    mixture.n_groups_used = m.n_groups_used;
    mixture.group_best = m.group_best;
    PC_TRY(mixture.router, tensors_.matrix(names_.router, m.n_experts, c_.d_model));
    if (m.router_bias) {
      PC_TRY(mixture.router_bias, tensors_.vector(names_.router, ".bias", m.n_experts));
    }
    if (m.choice_bias) {
      PC_TRY(mixture.choice_bias,
             tensors_.binder().one_row(tensors_.full_name(names_.choice_bias), m.n_experts));
    }
    if (m.shared_gated) {
      PC_TRY(mixture.ffn_gate,
             tensors_.binder().one_row(tensors_.full_name(names_.ffn_gate, ".weight"), c_.d_model));
    }
    if (m.own_norms) {
      PC_TRY(mixture.router_norm, tensors_.vector(names_.router_norm, "", c_.d_model));
      PC_TRY(mixture.expert_norm, tensors_.vector(names_.expert_norm, ".weight", c_.d_model));
      PC_TRY(mixture.made_norm, tensors_.vector(names_.made_norm, ".weight", c_.d_model));
      PC_TRY(mixture.ffn_made_norm, tensors_.vector(names_.ffn_made_norm, ".weight", c_.d_model));
    }
    if (m.expert_scales) {
      PC_TRY(mixture.expert_scales, tensors_.vector(names_.expert_scales, "", m.n_experts));
    }
    experts->resize(m.n_experts);
    mixture.experts = experts->data();
    if (has(names_.stacked_gate_up) || has(names_.stacked_up)) {
      names_.expert_prefix = names_.stack_ending = "";
      names_.expert_gate_up = names_.stacked_gate_up;
      names_.expert_up = names_.stacked_up;
      names_.expert_down = names_.stacked_down;
    }
    return names_.expert_prefix.empty() ? stacked_experts(experts) : separate_experts(experts);
  }

 private:
  bool has(std::string_view name) const {
    return !name.empty() && tensors_.binder().has(tensors_.full_name(name));
  }

  Status separate_experts(std::vector<pc_ffn>* experts) {
    for (std::uint32_t e = 0; e < experts->size(); ++e) {
      const std::string prefix = std::string(names_.expert_prefix) + std::to_string(e) + ".";
      PC_CHECK_OK(tensors_.network(
          c_, prefix,
          {names_.expert_gate, names_.expert_up, names_.expert_gate_up, names_.expert_down},
          c_.mixture.d_expert, &(*experts)[e]));
    }
    return ok();
  }

  Status stacked_experts(std::vector<pc_ffn>* experts) {
    const std::uint32_t width = c_.mixture.d_expert;
    const bool fused = !names_.expert_gate_up.empty();
    pc_tensor gate{}, up{};
    if (fused) {
      PC_TRY(gate, stack(names_.expert_gate_up, 2 * width, c_.d_model, names_.gate_up_rows));
    } else {
      if (c_.gated) {
        PC_TRY(gate, stack(names_.expert_gate, width, c_.d_model));
      }
      PC_TRY(up, stack(names_.expert_up, width, c_.d_model));
    }
    PC_TRY(const pc_tensor down, stack(names_.expert_down, c_.d_model, width));
    for (std::uint32_t e = 0; e < experts->size(); ++e) {
      pc_ffn& expert = (*experts)[e];
      if (gate.data) expert.gate = rows_of(gate, e * width * (fused ? 2 : 1), width);
      expert.up =
          fused ? rows_of(gate, e * width * 2 + width, width) : rows_of(up, e * width, width);
      expert.down = rows_of(down, e * c_.d_model, c_.d_model);
    }
    if (!c_.mixture.expert_bias) return ok();
    return fused ? fused_biases(experts) : stacked_biases(experts);
  }

  // Matrices of all experts, [n_experts * rows, cols].
  Result<pc_tensor> stack(std::string_view name, std::uint32_t rows, std::uint32_t cols,
                          RowOrder order = RowOrder::kPlain) {
    const std::string full = tensors_.full_name(name, names_.stack_ending);
    const std::uint32_t n = c_.mixture.n_experts;
    const auto plain = std::array<std::uint64_t, 3>{n, rows, cols};
    if (names_.stacks == Stacks::kPlain ||
        (names_.stacks == Stacks::kEither && tensors_.binder().has(full, plain)))
      return tensors_.binder().stack(full, n, rows, cols);
    if (tensors_.binder().has(full + "_blocks"))
      return tensors_.binder().mxfp4_stack(full, n, rows, cols, order);
    return tensors_.binder().turned_stack(full, n, rows, cols, order);
  }

  // [n_experts, rows], a row an expert.
  Result<pc_tensor> biases(std::string_view name, std::uint32_t n) {
    return tensors_.binder().matrix(tensors_.full_name(name, names_.bias_ending),
                                    c_.mixture.n_experts, n);
  }

  Status stacked_biases(std::vector<pc_ffn>* experts) {
    PC_TRY(const pc_tensor gate, biases(names_.expert_gate, c_.mixture.d_expert));
    PC_TRY(const pc_tensor up, biases(names_.expert_up, c_.mixture.d_expert));
    PC_TRY(const pc_tensor down, biases(names_.expert_down, c_.d_model));
    for (std::uint32_t e = 0; e < experts->size(); ++e) {
      (*experts)[e].b_gate = rows_of(gate, e, 1);
      (*experts)[e].b_up = rows_of(up, e, 1);
      (*experts)[e].b_down = rows_of(down, e, 1);
    }
    return ok();
  }

  // An expert's, first of its gate and then of its up, or by turns as the matrices' rows.
  Status fused_biases(std::vector<pc_ffn>* experts) {
    const std::uint32_t width = c_.mixture.d_expert;
    PC_TRY(pc_tensor both, biases(names_.expert_gate_up, 2 * width));
    both = tensors_.binder().ordered_columns(both, names_.gate_up_rows);
    PC_TRY(const pc_tensor down, biases(names_.expert_down, c_.d_model));
    both = {both.data, both.dtype, 2 * both.rows, width};
    for (std::uint32_t e = 0; e < experts->size(); ++e) {
      (*experts)[e].b_gate = rows_of(both, 2 * e, 1);
      (*experts)[e].b_up = rows_of(both, 2 * e + 1, 1);
      (*experts)[e].b_down = rows_of(down, e, 1);
    }
    return ok();
  }

  const ModelConfig& c_;
  TensorNames names_;  // in the form that the file has
  LayerTensors& tensors_;
};

}  // namespace

Status bind_mixture(const ModelConfig& config, LayerTensors& tensors,
                    std::deque<std::vector<pc_ffn>>* experts, pc_mixture* out) {
  return MixtureBinder(config, tensors).bind(&experts->emplace_back(), out);
}

}  // namespace pc
