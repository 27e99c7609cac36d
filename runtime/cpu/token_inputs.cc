// Per-layer embeddings: what a token gives each layer by itself (pc_model_desc::ple_embedding).
#include <cmath>

#include "runtime/backend/layer_parts.h"
#include "runtime/cpu/transformer.h"

namespace pc {

// ple = (norm(P x / sqrt(d_model)) + sqrt(d_ple) T[token]) / sqrt(2), a layer's part by itself
Status Transformer::make_token_inputs() {
  PC_CHECK_OK(gemm_.linear({x_.data(), n_tokens()}, desc_.ple_projection, false, ple_.data()));
  const std::size_t d = desc_.d_ple, width = desc_.n_layers * d;
  const float of_stream = 1.0f / std::sqrt(static_cast<float>(desc_.d_model));
  const float of_token = std::sqrt(static_cast<float>(d)), of_both = std::sqrt(0.5f);
  parallel_.for_each(n_tokens(), [&](std::uint32_t i, std::uint32_t thread) {
    float* token = ple_token_.data() + thread * width;
    read_row(desc_.ple_embedding, static_cast<std::size_t>(rows_->tokens[i]), token);
    float* own = ple_.data() + i * width;
    for (std::size_t c = 0; c < width; ++c) own[c] *= of_stream;
    for (std::size_t at = 0; at < width; at += d) {
      kernels_.rms_norm(own + at, vector_of(desc_.ple_norm), d, desc_.norm_eps, own + at);
      kernels_.add(token + at, of_token, d, own + at);
    }
    for (std::size_t c = 0; c < width; ++c) own[c] *= of_both;
  });
  return ok();
}

// x += norm(W (act(G x) * ple))
Status Transformer::add_token_input(std::uint32_t index) {
  const pc_layer& layer = desc_.layers[index];
  const std::size_t d = desc_.d_ple;
  PC_CHECK_OK(gemm_.linear({x_.data(), n_tokens()}, layer.ple_gate, false, ple_gate_.data()));
  const auto activate_row = [&](std::uint32_t i) {
    kernels_.activate(static_cast<simd::Activation>(desc_.activation), ple_gate_.data() + i * d,
                      ple_.data() + (std::size_t{i} * desc_.n_layers + index) * d, d);
  };
  return add_branch({ple_gate_.data(), n_tokens(), activate_row}, layer.ple_out, {},
                    layer.ple_norm);
}

}  // namespace pc
