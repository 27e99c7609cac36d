// The layers over the rows of one sweep: a decoder as pc_model_desc describes it (of
// the Llama kind: Touvron et al. 2023, arXiv 2302.13971; the other families'
// parts stand in runtime/backend/model_desc.h) over fresh tokens, with whatever states their
// timelines have ("Prompt Cache", section 3.4, for the reuse).
//
// Owns all scratch of a sweep, sized at construction; a sweep of one token
// allocates nothing. The model is borrowed and outlives it. Threads: one at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/function_ref.h"
#include "base/status.h"
#include "modules/kv.h"
#include "runtime/backend/backend.h"
#include "runtime/cpu/attention/attention.h"
#include "runtime/cpu/layers/head_states.h"
#include "runtime/cpu/layers/latent_heads.h"
#include "runtime/cpu/layers/mixture.h"
#include "runtime/cpu/products/gemm.h"
#include "runtime/cpu/rows.h"
#include "runtime/packed/packed_weights.h"

namespace pc {

// Larger heads are refused when a model opens.
inline constexpr std::uint32_t kMaxHeadDim = simd::kMaxAttendHeadDim;

class Transformer {
 public:
  // max_rows: the most rows of a sweep (runtime/cpu/chunk_size.h). packed: borrowed like the model;
  // empty where nothing is packed, as in exact precision.
  Transformer(const pc_model_desc& desc, const simd::Kernels& kernels, Parallel parallel,
              std::uint32_t max_rows, const PackedWeights& packed,
              Precision precision = Precision::kFast);

  // All layers over the rows, whose keys and values are written to their slots; swept again,
  // they are written again. `proceed` is called behind the embedding (0) and behind each layer
  // (1 to n_layers), and ends the sweep by an error, or by false without one. Rows are borrowed
  // until the next sweep. Precondition: 1 to max_rows rows.
  using Proceed = FunctionRef<Result<bool>(std::uint32_t n_layers_done)>;
  Status sweep(const Rows& rows, Proceed proceed);

  // The same, but for layers behind the last that has states: they are computed for the rows that
  // are read alone. The others' residual stream is that behind the layers before. While those
  // layers are computed, stream() is not to be looked at.
  Status sweep_for(const Rows& rows, const ReadRows& read, Proceed proceed);

  // Up to the last that has states, of tokens or of its own.
  std::uint32_t n_layers_to_states() const { return n_layers_to_states_; }

  // Computes and writes keys and values of the first n_states layers alone, of those that have
  // some. The residual stream is then that before the last of them.
  Status sweep_states(const Rows& rows, std::uint32_t n_states, Proceed proceed);

  // The residual stream as the latest sweep left it: [n, d_model] from row `first` on.
  std::span<const float> stream(std::uint32_t first, std::uint32_t n) const {
    return {x_.data() + std::size_t{first} * desc_.d_model, std::size_t{n} * desc_.d_model};
  }

  // The logits of these rows of the latest sweep, in order: [rows.size(), vocab_size], not yet
  // scaled and capped (cap_logits). At most max_rows rows.
  Status read_logits(std::span<const std::uint32_t> rows, float* logits);

  // The hidden states of these rows behind the final norm: [rows.size(), d_model], valid until the
  // next call.
  const float* read_hidden(std::span<const std::uint32_t> rows);

  // logits: [vocab_size]; scaled and capped as the model wants it.
  void cap_logits(float* logits) const;

 private:
  Status block(std::uint32_t layer);
  Status halves(std::uint32_t layer);
  Status add_token_input(std::uint32_t layer);
  void scale_stream(float scale);
  class Normed;
  Status begin_sweep(const Rows& rows);
  Status finish_for(const ReadRows& read, Proceed proceed);
  Status project(std::uint32_t layer, const Gemm::Input& h);
  Status project_latent(std::uint32_t layer, const Gemm::Input& h);
  Status mixer(std::uint32_t layer, const Gemm::Input& h);
  Status attention(std::uint32_t layer, const Gemm::Input& h);
  Status recur(std::uint32_t layer, const Gemm::Input& h);
  Status feed_forward(const pc_layer& layer, const Gemm::Input& h);
  Status inner(const pc_ffn& ffn, const Gemm::Input& h);
  void activate(const pc_ffn& ffn, std::uint32_t row);
  Status mix(const pc_layer& layer, const Gemm::Input& h);
  void weigh_ffn(std::uint32_t row);
  Status add_branch(const Gemm::Input& h, const pc_tensor& w, const pc_tensor& bias,
                    const pc_tensor& post_norm, float own_scale = 1.0f);
  void add_to_stream(const pc_tensor& post_norm, float scale, std::uint32_t row);
  void add_bias(const pc_tensor& bias, float* row) const;
  void embed();
  void read_row(const pc_tensor& table, std::size_t row, float* out) const;
  Status make_token_inputs();
  Status add_mixture(const pc_mixture& mixture, const Gemm::Input& h, bool accumulate);
  void norm_row(const pc_tensor& weight, const pc_tensor& bias, const float* x, float* y) const;
  void prepare_heads(std::uint32_t layer);
  void store(std::uint32_t layer, const KvSlot& slot, float* keys, float* values) const;
  void prepare_queries(const pc_layer& layer, float* q) const;
  void part_queries(const pc_layer& layer, std::uint32_t row, float* q) const;
  void gate_heads(const pc_layer& layer, std::uint32_t row);
  void prepare_keys_and_values(const pc_layer& layer, std::uint32_t row, float* k, float* v) const;
  void norm_and_split(const pc_layer& layer, const pc_tensor& norm, std::uint32_t n_heads,
                      float* heads) const;
  void clamp(float* x, std::size_t n) const;

  const pc_model_desc& desc_;
  const simd::Kernels& kernels_;
  Parallel parallel_;
  const std::uint32_t n_layers_to_states_;
  const std::vector<std::size_t> recurrent_numbers_;  // [n_layers] where a layer's state begins
  Attention attention_;
  std::vector<RotationTable> key_rotations_;  // [n_ropes] by key_position, a row a token
  Gemm gemm_;
  Mixture mixture_;
  LatentHeads latent_heads_;
  HeadStates head_states_;

  const Rows* rows_ = nullptr;  // of the sweep
  std::uint32_t n_tokens() const { return rows_->size(); }

  AlignedBuffer<float> x_;       // [max_rows, d_model] residual stream
  AlignedBuffer<float> h_;       // [max_rows, d_model] normed
  AlignedBuffer<float> branch_;  // the same: what a block adds, or a parallel block's second norm
  AlignedBuffer<float> q_;       // [max_rows, n_heads, head_dim] of the layer
  AlignedBuffer<float> k_, v_;   // [max_rows, n_kv_heads, head_dim]
  AlignedBuffer<float> mixed_;   // [max_rows, n_heads, head_dim], or what a recurrence makes
  AlignedBuffer<float> gate_, up_;  // [max_rows, d_ffn]
  AlignedBuffer<float> gated_q_;    // [max_rows, n_heads, 2, head_dim] queries and their gates
  AlignedBuffer<float> recurrent_;  // [max_rows, 3 * n_channels] of a convolution alone
  AlignedBuffer<float> ffn_gate_;   // [max_rows] logits of how much a layer's own network counts
  AlignedBuffer<float> unread_;     // [max_rows, d_model] the stream of rows that nobody reads
  AlignedBuffer<float> ple_;        // [max_rows, n_layers, d_ple] tokens' own inputs to layers
  AlignedBuffer<float> ple_gate_;   // [max_rows, d_ple]
  AlignedBuffer<float> ple_token_;  // [threads, n_layers, d_ple] a row of their embedding
  const std::vector<float> ones_;   // [kMaxHeadDim] weights of norms without weights
};

}  // namespace pc
