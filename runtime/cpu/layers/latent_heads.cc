#include "runtime/cpu/layers/latent_heads.h"

#include <algorithm>

#include "runtime/backend/layer_parts.h"

namespace pc {
namespace {

std::uint32_t most_heads(const pc_model_desc& desc) {
  return largest_of_layers(desc, [](const pc_layer& l) { return is_latent(l) ? l.n_heads : 0; });
}

// Of a head's part that its matrix reads.
std::uint32_t widest_input(const pc_layer& layer) {
  if (!is_latent(layer)) return 0;
  return std::max(latent_shape(layer).nope, latent_shape(layer).latent);
}

// Of what it makes.
std::uint32_t widest_output(const pc_layer& layer) {
  if (!is_latent(layer)) return 0;
  return std::max(latent_shape(layer).value, latent_shape(layer).latent);
}

}  // namespace

LatentShape latent_shape(const pc_layer& layer) {
  const std::uint32_t latent = layer.latent.dims, rotary = layer.head_dim - latent;
  return {latent, rotary, layer.latent.k_up[0].cols, layer.latent.v_up[0].rows};
}

LatentHeads::LatentHeads(const pc_model_desc& desc, const simd::Kernels& kernels, Parallel parallel,
                         std::uint32_t max_rows)
    : kernels_(kernels), parallel_(parallel) {
  const std::size_t rows = std::size_t{max_rows} * most_heads(desc) + kGemmRowGranule;
  products_.resize(most_heads(desc));
  groups_.resize(products_.size());
  parts_ = AlignedBuffer<float>(rows * largest_of_layers(desc, widest_input));
  made_ = AlignedBuffer<float>(rows * largest_of_layers(desc, widest_output));
}

std::vector<Gemm::Extent> LatentHeads::extents(const pc_model_desc& desc, std::uint32_t max_rows) {
  const std::uint32_t n_heads = most_heads(desc);
  if (n_heads == 0) return {};
  return {{max_rows * n_heads, largest_of_layers(desc, widest_input), n_heads}};
}

// made_ = of each head h and row i, matrices[h] x[i, h, first..)
Status LatentHeads::multiply(const pc_layer& layer, const pc_tensor* matrices, const float* x,
                             std::uint32_t head_dim, std::uint32_t first, std::uint32_t n,
                             Gemm* gemm) {
  const std::uint32_t n_heads = layer.n_heads, rows = matrices[0].rows, cols = matrices[0].cols;
  for (std::uint32_t h = 0; h < n_heads; ++h) {
    products_[h] = {&matrices[h], made_.data() + std::size_t{h} * n * rows};
    groups_[h] = {h * n, n, {&products_[h], 1}};
  }
  const auto gather = [&](std::uint32_t at) {
    const std::size_t head = at / n, row = at % n;
    std::copy_n(x + (row * n_heads + head) * head_dim + first, cols,
                parts_.data() + std::size_t{at} * cols);
  };
  return gemm->linear({parts_.data(), n_heads * n, gather}, std::span(groups_).first(n_heads),
                      false);
}

Status LatentHeads::absorb(const pc_layer& layer, const float* made, std::uint32_t n, Gemm* gemm,
                           float* q) {
  const LatentShape shape = latent_shape(layer);
  const std::uint32_t width = shape.nope + shape.rotary;
  PC_CHECK_OK(multiply(layer, layer.latent.k_up, made, width, 0, n, gemm));
  parallel_.for_each(n, [&](std::uint32_t i, std::uint32_t) {
    for (std::size_t h = 0; h < layer.n_heads; ++h) {
      const std::size_t head = std::size_t{i} * layer.n_heads + h;
      float* const to = q + head * layer.head_dim;
      std::copy_n(made + head * width + shape.nope, shape.rotary, to);
      std::copy_n(made_.data() + (h * n + i) * shape.latent, shape.latent, to + shape.rotary);
    }
  });
  return ok();
}

void LatentHeads::make_state(const pc_layer& layer, float* key, float* value) const {
  const LatentShape shape = latent_shape(layer);
  kernels_.rms_norm(key, vector_of(layer.latent.norm), shape.latent, layer.latent.norm_eps,
                    value + shape.rotary);
  std::copy_n(key + shape.latent, shape.rotary, value);
  std::copy_n(value, layer.head_dim, key);
  std::fill_n(value, shape.rotary, 0.0f);
}

Status LatentHeads::expand(const pc_layer& layer, const float* mixed, std::uint32_t n, Gemm* gemm,
                           float* values) {
  const LatentShape shape = latent_shape(layer);
  PC_CHECK_OK(multiply(layer, layer.latent.v_up, mixed, layer.head_dim, shape.rotary, n, gemm));
  parallel_.for_each(n, [&](std::uint32_t i, std::uint32_t) {
    for (std::size_t h = 0; h < layer.n_heads; ++h)
      std::copy_n(made_.data() + (h * n + i) * shape.value, shape.value,
                  values + (std::size_t{i} * layer.n_heads + h) * shape.value);
  });
  return ok();
}

}  // namespace pc
