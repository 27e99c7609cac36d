#include "runtime/model/shape/recurrent_binder.h"

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/model/shape/layer_tensors.h"

namespace pc {
namespace {

class RecurrentBinder {
 public:
  RecurrentBinder(const ModelConfig& config, LayerTensors& tensors)
      : c_(config.recurrent), d_model_(config.d_model), t_(tensors), names_(tensors.names()) {}

  Status bind(pc_recurrent* r) {
    r->kind = c_.kind;
    r->n_channels = c_.n_channels;
    r->n_taps = c_.n_taps;
    PC_TRY(r->conv,
           t_.binder().taps(t_.full_name(names_.conv, ".weight"), c_.n_channels, c_.n_taps));
    if (c_.kind == PC_RECURRENCE_MAMBA2) scale_taps(r);
    if (c_.conv_bias) {
      PC_TRY(r->conv_bias, t_.vector(names_.conv, ".bias", c_.n_channels));
    }
    return c_.n_heads != 0 ? head_states(r) : convolution(r);
  }

 private:
  Status convolution(pc_recurrent* r) {
    PC_TRY(r->in, t_.matrix(names_.recurrent_in, 3 * c_.n_channels, d_model_));
    PC_TRY(r->out, t_.matrix(names_.recurrent_out, d_model_, c_.n_channels));
    return ok();
  }

  Status head_states(pc_recurrent* r) {
    r->n_heads = c_.n_heads;
    r->n_key_heads = c_.n_key_heads;
    r->keys_by_turns = c_.keys_by_turns;
    r->d_k = c_.d_k;
    r->d_v = c_.d_v;
    r->norm_dims = c_.norm_dims;
    r->step_least = c_.step_least;
    r->step_most = c_.step_most;
    r->gate_scale = c_.gate_scale;
    PC_CHECK_OK(c_.kind == PC_RECURRENCE_MAMBA2 ? gate_in_decay(r) : delta_products(r));
    const std::string rate = t_.full_name(names_.decay_rate);
    PC_TRY(r->a, c_.a_is_log ? t_.binder().negative_exponentials(rate, c_.n_heads)
                             : t_.binder().numbers(rate, c_.n_heads));
    PC_TRY(r->step_bias, t_.vector(names_.step_bias, "", c_.n_heads));
    // A norm's weights are of a head, which all share, or of all numbers.
    const bool shared = c_.kind == PC_RECURRENCE_GATED_DELTA;
    if (c_.normed) {
      PC_TRY(r->norm, t_.binder().numbers(t_.full_name(names_.recurrent_norm, ".weight"),
                                          shared ? c_.norm_dims : c_.n_values()));
    }
    PC_TRY(r->out, t_.matrix(names_.recurrent_out, d_model_, c_.n_values()));
    return ok();
  }

  // What the convolution reads counts by the factors of x, k and q.
  void scale_taps(pc_recurrent* r) {
    if (c_.x_scale == 1 && c_.k_scale == 1 && c_.q_scale == 1) return;
    std::vector<float> factors(c_.n_values(), c_.x_scale);
    factors.insert(factors.end(), c_.n_keys(), c_.k_scale);
    factors.insert(factors.end(), c_.n_keys(), c_.q_scale);
    r->conv = t_.binder().scaled_columns(r->conv, factors);
  }

  // Rows of gates, of what the convolution reads, of steps. Also the skip.
  Status gate_in_decay(pc_recurrent* r) {
    PC_TRY(const pc_tensor all,
           t_.matrix(names_.gate_in_decay, c_.n_values() + c_.n_channels + c_.n_heads, d_model_));
    r->gate = rows_of(all, 0, c_.n_values());
    r->in = rows_of(all, c_.n_values(), c_.n_channels);
    r->decay = rows_of(all, c_.n_values() + c_.n_channels, c_.n_heads);
    if (c_.decay_scale != 1)
      r->decay = t_.binder().scaled_columns(r->decay, std::vector<float>(d_model_, c_.decay_scale));
    PC_TRY(r->skip, t_.binder().numbers(t_.full_name(names_.recurrent_skip), c_.n_heads));
    return ok();
  }

  Status delta_products(pc_recurrent* r) {
    PC_CHECK_OK(has(names_.in_and_gate) ? in_and_gate(r) : separate_in_and_gate(r));
    return has(names_.write_and_decay) ? write_and_decay(r) : separate_write_and_decay(r);
  }

  bool has(std::string_view name) const {
    return !name.empty() && t_.binder().has(t_.full_name(name, ".weight"));
  }

  Status separate_in_and_gate(pc_recurrent* r) {
    PC_TRY(r->in, t_.matrix(names_.recurrent_in, c_.n_channels, d_model_));
    PC_TRY(r->gate, t_.matrix(names_.recurrent_gate, c_.n_values(), d_model_));
    return ok();
  }

  Status separate_write_and_decay(pc_recurrent* r) {
    PC_TRY(r->decay, t_.matrix(names_.recurrent_decay, c_.n_heads, d_model_));
    PC_TRY(r->write, t_.matrix(names_.recurrent_write, c_.n_heads, d_model_));
    return ok();
  }

  // Rows [q, k, v of its heads, gates of these] of each key head; channels are all q, all k, all v.
  Status in_and_gate(pc_recurrent* r) {
    PC_TRY(const pc_tensor all,
           t_.matrix(names_.in_and_gate, c_.n_channels + c_.n_values(), d_model_));
    const std::uint32_t values = c_.n_values() / c_.n_key_heads;
    const std::uint32_t each = 2 * c_.d_k + 2 * values;
    std::vector<std::uint32_t> in, gate;
    add_rows(0, c_.d_k, each, &in);
    add_rows(c_.d_k, c_.d_k, each, &in);
    add_rows(2 * c_.d_k, values, each, &in);
    add_rows(2 * c_.d_k + values, values, each, &gate);
    r->in = t_.binder().rows_in_order(all, in);
    r->gate = t_.binder().rows_in_order(all, gate);
    return ok();
  }

  // Rows [write, decay] of each key head's heads.
  Status write_and_decay(pc_recurrent* r) {
    PC_TRY(const pc_tensor all, t_.matrix(names_.write_and_decay, 2 * c_.n_heads, d_model_));
    const std::uint32_t heads = c_.n_heads / c_.n_key_heads;
    std::vector<std::uint32_t> write, decay;
    add_rows(0, heads, 2 * heads, &write);
    add_rows(heads, heads, 2 * heads, &decay);
    r->write = t_.binder().rows_in_order(all, write);
    r->decay = t_.binder().rows_in_order(all, decay);
    return ok();
  }

  // Of each key head's `each` rows the n from `first` on.
  void add_rows(std::uint32_t first, std::uint32_t n, std::uint32_t each,
                std::vector<std::uint32_t>* rows) const {
    for (std::uint32_t head = 0; head < c_.n_key_heads; ++head)
      for (std::uint32_t i = 0; i < n; ++i) rows->push_back(head * each + first + i);
  }

  const RecurrentConfig& c_;
  const std::uint32_t d_model_;
  LayerTensors& t_;
  const TensorNames& names_;
};

}  // namespace

Status bind_recurrent(const ModelConfig& config, LayerTensors& tensors, pc_recurrent* out) {
  return RecurrentBinder(config, tensors).bind(out);
}

}  // namespace pc
