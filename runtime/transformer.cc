#include "runtime/transformer.h"

#include <algorithm>
#include <string>

namespace pc {
namespace {

const float* vector_of(const pc_tensor& t) {
  return static_cast<const float*>(t.data);
}

std::uint32_t widest_input(const pc_model_desc& d) {
  return std::max({d.d_model, d.d_ffn, d.n_heads * d.head_dim});
}

KvGeometry geometry_of(const pc_model_desc& d, KvType type) {
  return {d.n_layers, d.n_kv_heads, d.head_dim, type};
}

}  // namespace

Transformer::Transformer(const pc_model_desc& desc, KvType type, const simd::Kernels& kernels,
                         Parallel parallel, const TransformerLimits& limits)
    : desc_(desc),
      kernels_(kernels),
      parallel_(parallel),
      tail_(geometry_of(desc, type), limits.tail_tokens, limits.tail_segments),
      attention_(desc, type, kernels, parallel, kChunkTokens,
                 limits.max_segments + limits.tail_segments),
      key_rotations_({desc.inv_freq, desc.rope_dims / 2}, kChunkTokens),
      gemm_(kernels, parallel, kChunkTokens, widest_input(desc)),
      max_attached_(limits.max_segments),
      x_(std::size_t{kChunkTokens} * desc.d_model),
      h_(x_.size()),
      q_(std::size_t{kChunkTokens} * desc.n_heads * desc.head_dim),
      k_(std::size_t{kChunkTokens} * desc.n_kv_heads * desc.head_dim),
      v_(k_.size()),
      mixed_(q_.size()),
      gate_(std::size_t{kChunkTokens} * desc.d_ffn),
      up_(gate_.size()) {
  segments_.reserve(limits.max_segments + limits.tail_segments);
  tokens_.reserve(kChunkTokens);
  positions_.reserve(kChunkTokens);
  key_positions_.reserve(kChunkTokens);
}

Status Transformer::attach(std::span<const KvSegment> segments) {
  if (tail_.n_segments() != 0 || segments.size() > max_attached_ - n_attached_) {
    return error(Code::kInvalidArgument,
                 "segments are attached before the first token, and no more than announced");
  }
  segments_.resize(n_attached_);
  segments_.insert(segments_.end(), segments.begin(), segments.end());
  n_attached_ += static_cast<std::uint32_t>(segments.size());
  return ok();
}

// Everything that could fail on the caller's side fails here, before any work.
Status Transformer::admit(std::span<const pc_run> runs) const {
  std::uint64_t blocks = 0, n_tokens = 0;
  for (const pc_run& run : runs) {
    n_tokens += run.n_tokens;
    blocks += kv_blocks(run.n_tokens);
    for (std::uint32_t i = 0; i < run.n_tokens; ++i) {
      if (run.tokens[i] < 0 || static_cast<std::uint32_t>(run.tokens[i]) >= desc_.vocab_size) {
        return error(Code::kInvalidArgument, "token " + std::to_string(run.tokens[i]) +
                                                 " is outside the model's vocabulary of " +
                                                 std::to_string(desc_.vocab_size));
      }
    }
  }
  if (n_tokens == 0) return error(Code::kInvalidArgument, "there is no token to compute");
  // A run that continues the last segment takes no more than a new one would.
  const bool one_step = runs.size() == 1 && runs[0].extend && tail_.n_segments() != 0 &&
                        tail_.fits(runs[0].n_tokens, false);
  if (!one_step && (blocks > tail_.free_blocks() || runs.size() > tail_.free_segments())) {
    return error(Code::kContextFull, "the session has no room for " + std::to_string(n_tokens) +
                                         " more tokens in " + std::to_string(runs.size()) +
                                         " runs; it was opened for fewer");
  }
  return ok();
}

Status Transformer::forward(std::span<const pc_run> runs, const volatile std::int32_t* cancel,
                            float* logits) {
  PC_CHECK_OK(admit(runs));
  tokens_.clear();
  positions_.clear();
  key_positions_.clear();
  for (const pc_run& run : runs) {
    for (std::uint32_t done = 0; done < run.n_tokens;) {
      if (n_tokens() == kChunkTokens) PC_CHECK_OK(compute_chunk(cancel));
      const std::uint32_t n = std::min(run.n_tokens - done, kChunkTokens - n_tokens());
      PC_CHECK_OK(place(run, done, n));
      done += n;
    }
  }
  if (n_tokens() != 0) {
    // The last chunk's tokens stay readable for the logits.
    PC_CHECK_OK(compute_chunk(cancel));
  }
  return logits ? read_logits(logits) : ok();
}

// Takes tokens [first, first + n_tokens) of a run into the chunk and gives them rows.
Status Transformer::place(const pc_run& run, std::uint32_t first, std::uint32_t n_tokens) {
  const auto offset = static_cast<std::int32_t>(first);
  bool starts = first == 0;
  if (starts && run.extend && tail_.n_segments() != 0) {
    const KvSegment& last = tail_.segment(tail_.n_segments() - 1);
    const auto n = static_cast<std::int32_t>(last.n_tokens);
    starts = last.position + n != run.position || last.key_position + n != run.key_position;
  }
  if (!tail_.fits(n_tokens, starts)) {
    return error(Code::kContextFull, "the session has no room for " + std::to_string(run.n_tokens) +
                                         " more tokens; it was opened for fewer");
  }
  if (starts) tail_.start_segment(run.position, run.key_position);
  const std::uint32_t row = tail_.append(n_tokens);
  for (std::uint32_t i = 0; i < n_tokens; ++i) {
    const auto step = offset + static_cast<std::int32_t>(i);
    tokens_.push_back({run.tokens[first + i], row + i});
    positions_.push_back(run.position + step);
    key_positions_.push_back(run.key_position + step);
  }
  return ok();
}

// All layers over the chunk. On return the chunk is taken as done, but its
// last residual row stays in x_ for the logits.
Status Transformer::compute_chunk(const volatile std::int32_t* cancel) {
  segments_.resize(n_attached_);
  for (std::uint32_t i = 0; i < tail_.n_segments(); ++i) segments_.push_back(tail_.segment(i));
  attention_.plan(positions_, segments_);
  key_rotations_.fill(key_positions_);

  embed();
  for (std::uint32_t layer = 0; layer < desc_.n_layers; ++layer) {
    if (cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED))
      return error(Code::kCancelled, "cancelled");
    PC_CHECK_OK(attention_block(layer));
    PC_CHECK_OK(feed_forward_block(desc_.layers[layer]));
  }
  const float* last = x_.data() + (n_tokens() - std::size_t{1}) * desc_.d_model;
  std::copy_n(last, desc_.d_model, h_.data());
  tokens_.clear();
  positions_.clear();
  key_positions_.clear();
  return ok();
}

void Transformer::embed() {
  const pc_tensor& e = desc_.embedding;
  const auto type = static_cast<simd::Type>(e.dtype);
  const std::size_t row_bytes = e.cols * simd::type_bytes(type);
  for (std::uint32_t i = 0; i < n_tokens(); ++i) {
    const auto* row =
        static_cast<const std::byte*>(e.data) + static_cast<std::size_t>(tokens_[i].id) * row_bytes;
    kernels_.to_f32(row, type, e.cols, x_.data() + std::size_t{i} * desc_.d_model);
  }
}

// x += Wo attention(rotate(Wq norm(x)), rotate(Wk norm(x)), Wv norm(x))
Status Transformer::attention_block(std::uint32_t index) {
  const pc_layer& layer = desc_.layers[index];
  norm_rows(layer.attn_norm, x_.data(), h_.data());
  PC_CHECK_OK(linear(h_.data(), layer.wq, layer.bq, false, q_.data()));
  PC_CHECK_OK(linear(h_.data(), layer.wk, layer.bk, false, k_.data()));
  PC_CHECK_OK(linear(h_.data(), layer.wv, layer.bv, false, v_.data()));
  store_keys_and_values(index);
  attention_.run(index, q_.data(), mixed_.data());
  return linear(mixed_.data(), layer.wo, layer.bo, true, x_.data());
}

// x += Wdown (silu(Wgate norm(x)) * Wup norm(x))
Status Transformer::feed_forward_block(const pc_layer& layer) {
  norm_rows(layer.ffn_norm, x_.data(), h_.data());
  PC_CHECK_OK(linear(h_.data(), layer.w_gate, layer.b_gate, false, gate_.data()));
  PC_CHECK_OK(linear(h_.data(), layer.w_up, layer.b_up, false, up_.data()));
  parallel_.for_each(n_tokens(), [&](std::uint32_t i, std::uint32_t) {
    const std::size_t row = std::size_t{i} * desc_.d_ffn;
    kernels_.silu_mul(gate_.data() + row, up_.data() + row, desc_.d_ffn);
  });
  return linear(gate_.data(), layer.w_down, layer.b_down, true, x_.data());
}

Status Transformer::linear(const float* x, const pc_tensor& w, const pc_tensor& bias,
                           bool accumulate, float* y) {
  PC_CHECK_OK(gemm_.linear(x, n_tokens(), w, accumulate, y));
  if (bias.data) {
    for (std::uint32_t i = 0; i < n_tokens(); ++i) {
      kernels_.add(vector_of(bias), w.rows, y + std::size_t{i} * w.rows);
    }
  }
  return ok();
}

void Transformer::norm_rows(const pc_tensor& weight, const float* x, float* y) {
  parallel_.for_each(n_tokens(), [&](std::uint32_t i, std::uint32_t) {
    const std::size_t row = std::size_t{i} * desc_.d_model;
    kernels_.rms_norm(x + row, vector_of(weight), desc_.d_model, desc_.norm_eps, y + row);
  });
}

// Norms each head where the model does, rotates keys to their local
// positions, and packs both into the tail. Queries are normed here and
// rotated per segment, in attention.
void Transformer::store_keys_and_values(std::uint32_t index) {
  const pc_layer& layer = desc_.layers[index];
  const std::size_t hd = desc_.head_dim, half = desc_.rope_dims / 2;
  parallel_.for_each(n_tokens(), [&](std::uint32_t i, std::uint32_t) {
    if (layer.q_norm.data) {
      for (std::uint32_t head = 0; head < desc_.n_heads; ++head) {
        float* q = q_.data() + (std::size_t{i} * desc_.n_heads + head) * hd;
        kernels_.rms_norm(q, vector_of(layer.q_norm), hd, desc_.norm_eps, q);
      }
    }
    for (std::uint32_t head = 0; head < desc_.n_kv_heads; ++head) {
      float* k = k_.data() + (std::size_t{i} * desc_.n_kv_heads + head) * hd;
      if (layer.k_norm.data) kernels_.rms_norm(k, vector_of(layer.k_norm), hd, desc_.norm_eps, k);
      kernels_.rotate(k, key_rotations_.cos(i), key_rotations_.sin(i), half, desc_.rope_scale, k);
      tail_.write(index, head, tokens_[i].row, k,
                  v_.data() + (std::size_t{i} * desc_.n_kv_heads + head) * hd);
    }
  });
}

// logits = Whead norm(x of the last computed token), which compute_chunk left in h_.
Status Transformer::read_logits(float* logits) {
  kernels_.rms_norm(h_.data(), vector_of(desc_.final_norm), desc_.d_model, desc_.norm_eps,
                    h_.data());
  return gemm_.linear(h_.data(), 1, desc_.lm_head, false, logits);
}

}  // namespace pc
