// The forward pass of one session: a decoder as pc_model_desc describes it (of
// the Llama kind: Touvron et al. 2023, arXiv 2302.13971; the other families'
// parts stand in runtime/backend/backend.h) over fresh tokens, with whatever states are
// attached ("Prompt Cache", section 3.4, for the reuse).
//
// Owns all scratch of a step, sized at construction; forward() of one token
// allocates nothing. The model is borrowed and outlives it.
// Threads: one session's, one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "modules/kv.h"
#include "runtime/backend/backend.h"
#include "runtime/cpu/attention.h"
#include "runtime/cpu/gemm.h"
#include "runtime/cpu/kv_tail.h"
#include "runtime/packed/packed_weights.h"

namespace pc {

// Larger heads are refused when a model opens.
inline constexpr std::uint32_t kMaxHeadDim = 512;

struct TransformerLimits {
  std::uint32_t tail_tokens;    // fresh and generated tokens of the session's life
  std::uint32_t tail_segments;  // their runs
  std::uint32_t max_segments;   // attached runs
  std::uint32_t chunk_tokens;   // computed in one sweep over the layers (runtime/cpu/chunk_size.h)
};

class Transformer {
 public:
  // packed: borrowed like the model; empty where nothing is, as in exact precision.
  Transformer(const pc_model_desc& desc, KvType type, const simd::Kernels& kernels,
              Parallel parallel, const TransformerLimits& limits, const PackedWeights& packed,
              Precision precision = Precision::kFast);

  // Makes cached runs visible to later tokens. Stores views only.
  Status attach(std::span<const KvSegment> segments);

  // Computes the runs' tokens; see pc_backend_v1::forward.
  Status forward(std::span<const pc_run> runs, const volatile std::int32_t* cancel, float* logits);

  // The same, joining what each layer made to ranges, [n_layers + 1]; see pc_backend_v1::measure.
  Status measure(std::span<const pc_run> runs, pc_layer_range* ranges, float* logits);

  KvTail& tail() { return tail_; }

 private:
  struct Token {
    std::int32_t id;
    std::uint32_t row;  // in the tail
  };

  Status admit(std::span<const pc_run> runs) const;
  Status place(const pc_run& run, std::uint32_t first, std::uint32_t n_tokens);
  Status compute_chunk(const volatile std::int32_t* cancel);
  enum class Checked { kAtTheEnd, kEachLayer };
  Status sweep(const volatile std::int32_t* cancel, Checked checked);
  Status check_stream(const std::string& where) const;
  void measure_stream(pc_layer_range& range) const;
  Status block(std::uint32_t layer);
  class Normed;
  Status attention(std::uint32_t layer, const Gemm::Input& h);
  Status feed_forward(const pc_layer& layer, const Gemm::Input& h);
  Status add_branch(const Gemm::Input& h, const pc_tensor& w, const pc_tensor& bias,
                    const pc_tensor& post_norm);
  void add_bias(const pc_tensor& bias, float* row) const;
  void embed();
  void norm_row(const pc_tensor& weight, const pc_tensor& bias, const float* x, float* y) const;
  void store_keys_and_values(std::uint32_t layer);
  void prepare_heads(const pc_tensor& norm, const pc_rope* rope, std::uint32_t n_heads,
                     float* heads) const;
  Status read_logits(float* logits);

  const pc_model_desc& desc_;
  const simd::Kernels& kernels_;
  Parallel parallel_;
  KvTail tail_;
  Attention attention_;
  std::vector<RotationTable> key_rotations_;  // [n_ropes] by key_position, a row a token
  Gemm gemm_;

  std::vector<KvSegment> segments_;  // attached, then the tail's
  std::uint32_t n_attached_ = 0, max_attached_;

  std::uint32_t chunk_;               // the most tokens of one
  pc_layer_range* ranges_ = nullptr;  // while measuring

  // The chunk: n_tokens() tokens in order of position.
  std::vector<Token> tokens_;
  std::vector<std::int32_t> positions_, key_positions_;
  std::uint32_t n_tokens() const { return static_cast<std::uint32_t>(tokens_.size()); }

  AlignedBuffer<float> x_;       // [chunk, d_model] residual stream
  AlignedBuffer<float> h_;       // [chunk, d_model] normed
  AlignedBuffer<float> branch_;  // the same: what a block adds, or a parallel block's second norm
  AlignedBuffer<float> q_;       // [chunk, n_heads, head_dim]
  AlignedBuffer<float> k_, v_;   // [chunk, n_kv_heads, head_dim]
  AlignedBuffer<float> mixed_;   // [chunk, n_heads, head_dim]
  AlignedBuffer<float> gate_, up_;  // [chunk, d_ffn]
};

}  // namespace pc
