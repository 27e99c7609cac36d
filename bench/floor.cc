#include "bench/floor.h"

#include <cmath>
#include <span>

#include "runtime/backend/layer_parts.h"
#include "simd/types.h"

namespace pc::bench {
namespace {

double elements(const pc_tensor& t) {
  return static_cast<double>(t.rows) * t.cols;
}

double bytes(const pc_tensor& t) {
  const auto n = static_cast<std::size_t>(t.rows) * t.cols;
  return static_cast<double>(simd::bytes_of(static_cast<simd::Type>(t.dtype), n));
}

}  // namespace

Work work_of(const Engine& engine) {
  const pc_model_desc& d = engine.model().desc;
  Work w;
  for (const pc_layer& layer : std::span(d.layers, d.n_layers)) {
    pc_layer dense = layer;
    dense.mixture.n_experts = 0;
    for_each_matrix(dense, [&](const pc_tensor& t) {
      w.layer_macs += elements(t);
      w.layer_bytes += bytes(t);
    });
    if (layer.mixture.n_experts == 0) continue;
    w.used_share = static_cast<double>(layer.mixture.n_used) / layer.mixture.n_experts;
    for (const pc_ffn& expert : experts_of(layer)) {
      for_each_matrix(expert, [&](const pc_tensor& t) {
        w.layer_macs += elements(t) * w.used_share;
        w.expert_bytes += bytes(t);
      });
    }
  }
  if (d.ple_projection.data) {
    w.layer_macs += elements(d.ple_projection);
    w.layer_bytes += bytes(d.ple_projection);
  }
  w.head_macs = elements(d.lm_head);
  w.head_bytes = bytes(d.lm_head);
  w.kv_bytes = static_cast<double>(engine.geometry().state_bytes(1)) / kKvBlockTokens;
  w.kv_int8 = engine.geometry().type() == KvType::kQ8;
  for (const pc_layer& layer : std::span(d.layers, d.n_layers))
    if (attends(layer)) w.attention_macs += 2.0 * layer.n_heads * layer.head_dim;
  w.quantised = simd::is_quantised(static_cast<simd::Type>(d.layers[0].wq.dtype));
  return w;
}

Floor floor_of(const Work& w, const Machine& m, double n, double depth) {
  const double linear_peak = w.quantised ? m.best_int8() : m.best_bf16();
  const double attention_peak = w.kv_int8 ? m.best_int8() : m.best_bf16();
  Floor f;
  // Of experts chosen evenly, those that at least one of n tokens goes to.
  const double read = w.expert_bytes * (1 - std::pow(1 - w.used_share, n));
  f.memory_ms = (w.layer_bytes + read + w.head_bytes + w.kv_bytes * depth) / m.read_gb_per_s / 1e6;
  f.compute_ms = 2 * (w.layer_macs * n + w.head_macs) / linear_peak / 1e6 +
                 2 * w.attention_macs * n * (depth + n / 2) / attention_peak / 1e6;
  return f;
}

}  // namespace pc::bench
