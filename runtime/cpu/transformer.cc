#include "runtime/cpu/transformer.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace pc {
namespace {

static_assert(kMaxHeadDim <= simd::kMaxAttendHeadDim);

const float* vector_of(const pc_tensor& t) {
  return static_cast<const float*>(t.data);
}

std::uint32_t widest_input(const pc_model_desc& d) {
  return std::max({d.d_model, d.d_ffn, d.n_heads * d.head_dim});
}

// Does any block norm or scale what it adds, or norm its input twice?
bool needs_branch(const pc_model_desc& d) {
  if (d.residual_scale != 1.0f) return true;
  for (const pc_layer& layer : std::span(d.layers, d.n_layers)) {
    if (layer.attn_post_norm.data || layer.ffn_post_norm.data) return true;
    if (d.parallel && layer.ffn_norm.data) return true;
  }
  return false;
}

// x[0..n) of interleaved pairs -> first halves, then second halves: the order in
// which rotations are computed here. Queries and keys alike, so products stay.
void split_pairs(float* x, std::size_t n) {
  float first[kMaxHeadDim / 2], second[kMaxHeadDim / 2];
  for (std::size_t i = 0; i < n / 2; ++i) {
    first[i] = x[2 * i];
    second[i] = x[2 * i + 1];
  }
  std::copy_n(first, n / 2, x);
  std::copy_n(second, n / 2, x + n / 2);
}

KvGeometry geometry_of(const pc_model_desc& d, KvType type) {
  return {d.n_layers, d.n_kv_heads, d.head_dim, type};
}

}  // namespace

Transformer::Transformer(const pc_model_desc& desc, KvType type, const simd::Kernels& kernels,
                         Parallel parallel, const TransformerLimits& limits,
                         const PackedWeights& packed, Precision precision)
    : desc_(desc),
      kernels_(kernels),
      parallel_(parallel),
      tail_(geometry_of(desc, type), limits.tail_tokens, limits.tail_segments),
      attention_(desc, type, kernels, parallel, limits.chunk_tokens,
                 limits.max_segments + limits.tail_segments),
      gemm_(kernels, parallel, limits.chunk_tokens, widest_input(desc), &packed, precision),
      max_attached_(limits.max_segments),
      chunk_(limits.chunk_tokens),
      x_(std::size_t{chunk_} * desc.d_model),
      h_(x_.size()),
      branch_(needs_branch(desc) ? x_.size() : 0),
      q_(std::size_t{chunk_} * desc.n_heads * desc.head_dim),
      k_(std::size_t{chunk_} * desc.n_kv_heads * desc.head_dim),
      v_(k_.size()),
      mixed_(q_.size()),
      gate_(std::size_t{chunk_} * desc.d_ffn),
      up_(gate_.size()) {
  for (const pc_rope& rope : std::span(desc.ropes, desc.n_ropes))
    key_rotations_.emplace_back(std::span(rope.inv_freq, rope.dims / 2), chunk_);
  segments_.reserve(limits.max_segments + limits.tail_segments);
  tokens_.reserve(chunk_);
  positions_.reserve(chunk_);
  key_positions_.reserve(chunk_);
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
    if (desc_.position_embedding.data &&
        (run.position < 0 ||
         std::uint64_t{run.n_tokens} + static_cast<std::uint32_t>(run.position) >
             desc_.position_embedding.rows)) {
      return error(Code::kContextFull,
                   "position " + std::to_string(run.position + std::int64_t{run.n_tokens} - 1) +
                       " is beyond the " + std::to_string(desc_.position_embedding.rows) +
                       " positions that the model learned");
    }
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
      if (n_tokens() == chunk_) PC_CHECK_OK(compute_chunk(cancel));
      const std::uint32_t n = std::min(run.n_tokens - done, chunk_ - n_tokens());
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

Status Transformer::measure(std::span<const pc_run> runs, pc_layer_range* ranges, float* logits) {
  ranges_ = ranges;
  Status status = forward(runs, nullptr, logits);
  ranges_ = nullptr;
  return status;
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
  for (RotationTable& table : key_rotations_) table.fill(key_positions_);

  Status status = sweep(cancel, Checked::kAtTheEnd);
  // Once more, to name the layer: the rows of the tail are written anew.
  if (!status.ok() && status.error().code == Code::kNotFinite)
    status = sweep(cancel, Checked::kEachLayer);
  PC_CHECK_OK(std::move(status));
  const float* last = x_.data() + (n_tokens() - std::size_t{1}) * desc_.d_model;
  std::copy_n(last, desc_.d_model, h_.data());
  tokens_.clear();
  positions_.clear();
  key_positions_.clear();
  return ok();
}

// A layer adds to the stream, and NaN and infinity stay what they are under addition: one
// look at its end sees those of every layer, and costs a row no more than a norm does.
Status Transformer::sweep(const volatile std::int32_t* cancel, Checked checked) {
  embed();
  if (ranges_) measure_stream(ranges_[0]);
  if (checked == Checked::kEachLayer) PC_CHECK_OK(check_stream("the embedding"));
  for (std::uint32_t layer = 0; layer < desc_.n_layers; ++layer) {
    if (cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED))
      return error(Code::kCancelled, "cancelled");
    PC_CHECK_OK(block(layer));
    if (ranges_) measure_stream(ranges_[layer + 1]);
    if (checked == Checked::kEachLayer)
      PC_CHECK_OK(check_stream("layer " + std::to_string(layer + 1) + " of " +
                               std::to_string(desc_.n_layers)));
  }
  return ranges_ ? ok() : check_stream("a layer");
}

void Transformer::measure_stream(pc_layer_range& range) const {
  for (const float x : std::span(x_.data(), std::size_t{n_tokens()} * desc_.d_model)) {
    if (std::isfinite(x)) {
      range.largest = std::max(range.largest, std::fabs(x));
    } else {
      ++range.n_not_finite;
    }
  }
}

// kNotFinite, naming `where` and the first token that is concerned.
Status Transformer::check_stream(const std::string& where) const {
  const std::size_t d = desc_.d_model;
  if (kernels_.all_finite(x_.data(), simd::Type::kF32, n_tokens() * d)) return ok();
  std::uint32_t i = 0;
  while (kernels_.all_finite(x_.data() + i * d, simd::Type::kF32, d)) ++i;
  return error(Code::kNotFinite, "the model computed numbers that are not finite: they begin in " +
                                     where + ", for the token at position " +
                                     std::to_string(positions_[i]));
}

// x = scale * E[token] (+ P[position])
void Transformer::embed() {
  const auto read_row = [this](const pc_tensor& table, std::size_t row, float* out) {
    const auto type = static_cast<simd::Type>(table.dtype);
    const auto* data = static_cast<const std::byte*>(table.data);
    kernels_.to_f32(data + row * simd::bytes_of(type, table.cols), type, table.cols, out);
  };
  for (std::uint32_t i = 0; i < n_tokens(); ++i) {
    float* x = x_.data() + std::size_t{i} * desc_.d_model;
    read_row(desc_.embedding, static_cast<std::size_t>(tokens_[i].id), x);
    if (desc_.embedding_scale != 1.0f) {
      for (std::uint32_t c = 0; c < desc_.d_model; ++c) x[c] *= desc_.embedding_scale;
    }
    if (desc_.position_embedding.data) {
      read_row(desc_.position_embedding, static_cast<std::size_t>(positions_[i]), h_.data());
      kernels_.add(h_.data(), 1.0f, desc_.d_model, x);
    }
  }
}

// The residual stream normed into y, or itself where the model has no norm there.
class Transformer::Normed {
 public:
  Normed(const Transformer& t, const pc_tensor& weight, const pc_tensor& bias, float* y)
      : t_(t), weight_(weight), bias_(bias), y_(y) {}

  void operator()(std::uint32_t i) const {
    const std::size_t row = std::size_t{i} * t_.desc_.d_model;
    t_.norm_row(weight_, bias_, t_.x_.data() + row, y_ + row);
  }

  // Rows to be made by the product that reads them. Borrows this.
  Gemm::Input rows() const {
    if (!weight_.data) return {t_.x_.data(), t_.n_tokens()};
    return {y_, t_.n_tokens(), *this};
  }

  // Rows made now, in y in any case: what is added to the stream later does not change them.
  Gemm::Input made() const {
    t_.parallel_.for_each(t_.n_tokens(), [this](std::uint32_t i, std::uint32_t) {
      const std::size_t n = t_.desc_.d_model, row = i * n;
      if (!weight_.data) return void(std::copy_n(t_.x_.data() + row, n, y_ + row));
      (*this)(i);
    });
    return {y_, t_.n_tokens()};
  }

 private:
  const Transformer& t_;
  const pc_tensor &weight_, &bias_;
  float* y_;
};

// x += attention(norm(x)); x += ffn(norm(x)); or both from the x before.
Status Transformer::block(std::uint32_t index) {
  const pc_layer& layer = desc_.layers[index];
  const Normed attn(*this, layer.attn_norm, layer.attn_norm_bias, h_.data());
  if (!desc_.parallel) {
    PC_CHECK_OK(attention(index, attn.rows()));
    const Normed ffn(*this, layer.ffn_norm, layer.ffn_norm_bias, h_.data());
    return feed_forward(layer, ffn.rows());
  }
  const Normed ffn(*this, layer.ffn_norm, layer.ffn_norm_bias, branch_.data());
  const Gemm::Input h = attn.made();  // attention adds to x before the other product reads it
  const Gemm::Input h2 = layer.ffn_norm.data ? ffn.made() : h;
  PC_CHECK_OK(attention(index, h));
  return feed_forward(layer, h2);
}

// x += Wo attention(rotate(Wq h), rotate(Wk h), Wv h)
Status Transformer::attention(std::uint32_t index, const Gemm::Input& h) {
  const pc_layer& layer = desc_.layers[index];
  const Gemm::Product products[] = {
      {&layer.wq, q_.data()}, {&layer.wk, k_.data()}, {&layer.wv, v_.data()}};
  PC_CHECK_OK(gemm_.linear(h, products, false));
  store_keys_and_values(index);
  attention_.run(index, q_.data(), mixed_.data());
  return add_branch({mixed_.data(), n_tokens()}, layer.wo, layer.bo, layer.attn_post_norm);
}

// x += Wdown (act(Wgate h) * Wup h), or Wdown act(Wup h)
Status Transformer::feed_forward(const pc_layer& layer, const Gemm::Input& h) {
  const bool gated = layer.w_gate.data != nullptr;
  const auto activation = static_cast<simd::Activation>(desc_.activation);
  const Gemm::Product products[] = {{&layer.w_up, up_.data()}, {&layer.w_gate, gate_.data()}};
  PC_CHECK_OK(gemm_.linear(h, std::span(products, gated ? 2 : 1), false));
  const auto activate = [&](std::uint32_t i) {
    float* up = up_.data() + std::size_t{i} * desc_.d_ffn;
    float* gate = gate_.data() + std::size_t{i} * desc_.d_ffn;
    add_bias(layer.b_up, up);
    if (gated) add_bias(layer.b_gate, gate);
    kernels_.activate(activation, gated ? gate : up, gated ? up : nullptr, desc_.d_ffn);
  };
  return add_branch({gated ? gate_.data() : up_.data(), n_tokens(), activate}, layer.w_down,
                    layer.b_down, layer.ffn_post_norm);
}

// x += residual_scale * norm(W h + b)
Status Transformer::add_branch(const Gemm::Input& h, const pc_tensor& w, const pc_tensor& bias,
                               const pc_tensor& post_norm) {
  const bool direct = !post_norm.data && desc_.residual_scale == 1.0f;
  float* y = direct ? x_.data() : branch_.data();
  PC_CHECK_OK(gemm_.linear(h, w, direct, y));
  if (direct && !bias.data) return ok();
  parallel_.for_each(n_tokens(), [&](std::uint32_t i, std::uint32_t) {
    const std::size_t row = std::size_t{i} * desc_.d_model;
    add_bias(bias, y + row);
    if (direct) return;
    if (post_norm.data) norm_row(post_norm, {}, y + row, y + row);
    kernels_.add(y + row, desc_.residual_scale, desc_.d_model, x_.data() + row);
  });
  return ok();
}

// bias and row: [n]; a bias that is not there is none.
void Transformer::add_bias(const pc_tensor& bias, float* row) const {
  if (bias.data) kernels_.add(vector_of(bias), 1.0f, bias.cols, row);
}

// y may be x. [weight.cols]
void Transformer::norm_row(const pc_tensor& weight, const pc_tensor& bias, const float* x,
                           float* y) const {
  if (desc_.norm == PC_NORM_LAYER) {
    kernels_.layer_norm(x, vector_of(weight), vector_of(bias), weight.cols, desc_.norm_eps, y);
  } else {
    kernels_.rms_norm(x, vector_of(weight), weight.cols, desc_.norm_eps, y);
  }
}

// Adds biases, norms heads where the model does, rotates keys to their local positions, and
// packs keys and values into the tail. Queries are rotated per segment, in
// attention.
void Transformer::store_keys_and_values(std::uint32_t index) {
  const pc_layer& layer = desc_.layers[index];
  const pc_rope* rope = layer.rope == PC_NO_ROPE ? nullptr : &desc_.ropes[layer.rope];
  const std::size_t hd = desc_.head_dim;
  const std::size_t q_width = desc_.n_heads * hd, kv_width = desc_.n_kv_heads * hd;
  parallel_.for_each(n_tokens(), [&](std::uint32_t i, std::uint32_t) {
    float* q = q_.data() + i * q_width;
    float* k = k_.data() + i * kv_width;
    float* v = v_.data() + i * kv_width;
    add_bias(layer.bq, q);
    add_bias(layer.bk, k);
    add_bias(layer.bv, v);
    if (desc_.qkv_clamp != 0.0f) {
      for (const std::span<float> part :
           {std::span(q, q_width), std::span(k, kv_width), std::span(v, kv_width)}) {
        for (float& x : part) x = std::clamp(x, -desc_.qkv_clamp, desc_.qkv_clamp);
      }
    }
    prepare_heads(layer.q_norm, rope, desc_.n_heads, q);
    prepare_heads(layer.k_norm, rope, desc_.n_kv_heads, k);
    for (std::uint32_t head = 0; head < desc_.n_kv_heads; ++head) {
      if (rope) {
        const RotationTable& table = key_rotations_[layer.rope];
        kernels_.rotate(k + head * hd, table.cos(i), table.sin(i), rope->dims / 2, rope->scale,
                        k + head * hd);
      }
      tail_.write(index, head, tokens_[i].row, k + head * hd, v + head * hd);
    }
  });
}

// heads: [n_heads, head_dim] of one token.
void Transformer::prepare_heads(const pc_tensor& norm, const pc_rope* rope, std::uint32_t n_heads,
                                float* heads) const {
  const std::size_t hd = desc_.head_dim, width = n_heads * hd;
  if (norm.data) {  // of each head, or of all at once
    for (std::size_t at = 0; at < width; at += norm.cols) {
      kernels_.rms_norm(heads + at, vector_of(norm), norm.cols, desc_.norm_eps, heads + at);
    }
  }
  if (rope && rope->interleaved) {
    for (std::uint32_t head = 0; head < n_heads; ++head) split_pairs(heads + head * hd, rope->dims);
  }
}

// logits = Whead norm(x of the last computed token), which compute_chunk left in h_.
Status Transformer::read_logits(float* logits) {
  norm_row(desc_.final_norm, desc_.final_norm_bias, h_.data(), h_.data());
  PC_CHECK_OK(gemm_.linear({h_.data(), 1}, desc_.lm_head, false, logits));
  // Who gets the logits looks at them; but a cap makes infinity a number like others.
  if (!ranges_ && desc_.logit_softcap != 0.0f &&
      !kernels_.all_finite(logits, simd::Type::kF32, desc_.vocab_size))
    return error(Code::kNotFinite,
                 "the model computed logits that are not finite, before they "
                 "are capped");
  if (desc_.logit_scale == 1.0f && desc_.logit_softcap == 0.0f) return ok();
  const float cap = desc_.logit_softcap;
  for (std::uint32_t v = 0; v < desc_.vocab_size; ++v) {
    logits[v] *= desc_.logit_scale;
    if (cap != 0.0f) logits[v] = cap * std::tanh(logits[v] / cap);
  }
  return ok();
}

}  // namespace pc
