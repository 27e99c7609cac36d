#include "runtime/cpu/transformer.h"

#include <algorithm>
#include <cmath>

#include "runtime/backend/layer_parts.h"
#include "runtime/backend/states_shape.h"
#include "runtime/cpu/layers/short_convolution.h"

namespace pc {
namespace {

static_assert(kMaxHeadDim <= simd::kMaxAttendHeadDim);

// Of what attention or a recurrence makes of a row, or latent attention of its queries.
std::uint32_t mixed_width(const pc_layer& layer) {
  return std::max(q_width(layer), made_width(layer));
}

std::uint32_t widest_product_input(const pc_model_desc& d) {
  return std::max({d.d_model, d.d_ffn, largest_of_layers(d, mixed_width)});
}

std::vector<Gemm::Extent> largest_inputs(const pc_model_desc& d, std::uint32_t max_rows) {
  std::vector<Gemm::Extent> largest = Mixture::extents(d, max_rows);
  for (const Gemm::Extent& of_heads : LatentHeads::extents(d, max_rows))
    largest.push_back(of_heads);
  largest.push_back({max_rows, widest_product_input(d)});
  return largest;
}

// Does any block norm or scale what it adds, add up a mixture, or norm its input twice?
bool needs_branch(const pc_model_desc& d) {
  if (d.residual_scale != 1.0f || d.attn_out_scale != 1.0f || d.recurrent_out_scale != 1.0f ||
      d.ffn_out_scale != 1.0f)
    return true;
  for (const pc_layer& layer : std::span(d.layers, d.n_layers)) {
    if (layer.attn_post_norm.data || layer.ffn_post_norm.data || layer.ple_norm.data) return true;
    if (layer.mixture.n_experts != 0) return true;
    if (d.parallel && layer.ffn_norm.data) return true;
  }
  return false;
}

std::uint32_t layers_to_states(const pc_model_desc& desc) {
  std::uint32_t n = desc.n_layers;
  while (n > 0 && !has_states(desc.layers[n - 1]) && !is_recurrent(desc.layers[n - 1])) --n;
  return n;
}

std::vector<std::size_t> first_recurrent_numbers(const pc_model_desc& desc) {
  std::vector<std::size_t> first;
  std::size_t n = 0;
  for (const pc_layer& layer : std::span(desc.layers, desc.n_layers)) {
    first.push_back(n);
    n += state_numbers(layer);
  }
  return first;
}

std::uint32_t recurrent_width(const pc_layer& layer) {
  return layer.recurrent.kind == PC_RECURRENCE_CONVOLUTION ? layer.recurrent.in.rows : 0;
}

std::uint32_t gated_width(const pc_layer& layer) {
  return layer.q_gated ? 2 * q_width(layer) : 0;
}

}  // namespace

Transformer::Transformer(const pc_model_desc& desc, const simd::Kernels& kernels, Parallel parallel,
                         std::uint32_t max_rows, const PackedWeights& packed, Precision precision)
    : desc_(desc),
      kernels_(kernels),
      parallel_(parallel),
      n_layers_to_states_(layers_to_states(desc)),
      recurrent_numbers_(first_recurrent_numbers(desc)),
      attention_(desc, kernels, parallel, max_rows, precision == Precision::kDeterministic),
      gemm_(kernels, parallel, largest_inputs(desc, max_rows), &packed, precision),
      mixture_(desc, kernels, parallel, max_rows),
      latent_heads_(desc, kernels, parallel, max_rows),
      head_states_(desc, kernels, parallel, max_rows, precision == Precision::kDeterministic),
      x_(std::size_t{max_rows} * desc.d_model),
      h_(x_.size()),
      branch_(needs_branch(desc) ? x_.size() : 0),
      q_(std::size_t{max_rows} * largest_of_layers(desc, q_width)),
      k_(std::size_t{max_rows} * largest_of_layers(desc, kv_width)),
      v_(k_.size()),
      mixed_(std::size_t{max_rows} * largest_of_layers(desc, mixed_width)),
      gate_(std::size_t{max_rows} * desc.d_ffn),
      up_(gate_.size()),
      gated_q_(std::size_t{max_rows} * largest_of_layers(desc, gated_width)),
      recurrent_(std::size_t{max_rows} * largest_of_layers(desc, recurrent_width)),
      ffn_gate_(max_rows),
      unread_(n_layers_to_states_ < desc.n_layers ? x_.size() : 0),
      ple_(std::size_t{max_rows} * desc.n_layers * desc.d_ple),
      ple_gate_(std::size_t{max_rows} * desc.d_ple),
      ple_token_(std::size_t{parallel.n_threads()} * desc.n_layers * desc.d_ple),
      ones_(kMaxHeadDim, 1.0f) {
  for (const pc_rope& rope : std::span(desc.ropes, desc.n_ropes))
    key_rotations_.emplace_back(std::span(rope.inv_freq, rope.dims / 2), max_rows);
}

Status Transformer::begin_sweep(const Rows& rows) {
  rows_ = &rows;
  attention_.plan(rows.positions, rows.timelines);
  for (RotationTable& table : key_rotations_) table.fill(rows.key_positions);
  embed();
  return desc_.d_ple != 0 ? make_token_inputs() : ok();
}

Status Transformer::sweep(const Rows& rows, Proceed proceed) {
  PC_CHECK_OK(begin_sweep(rows));
  for (std::uint32_t layer = 0;; ++layer) {
    PC_TRY(const bool goes_on, proceed(layer));
    if (!goes_on || layer == desc_.n_layers) return ok();
    PC_CHECK_OK(block(layer));
  }
}

Status Transformer::sweep_for(const Rows& rows, const ReadRows& read, Proceed proceed) {
  PC_CHECK_OK(begin_sweep(rows));
  for (std::uint32_t layer = 0;; ++layer) {
    PC_TRY(const bool goes_on, proceed(layer));
    if (!goes_on || layer == desc_.n_layers) return ok();
    if (layer == n_layers_to_states_) return finish_for(read, proceed);
    PC_CHECK_OK(block(layer));
  }
}

// The layers that have no states. Rows that are read move to the front of the stream, and back.
Status Transformer::finish_for(const ReadRows& read, Proceed proceed) {
  if (read.numbers.empty()) return ok();
  const std::size_t d = desc_.d_model, width = std::size_t{desc_.n_layers} * desc_.d_ple;
  const std::size_t n_all = n_tokens() * d;
  std::copy_n(x_.data(), n_all, unread_.data());
  for (std::size_t i = 0; i < read.numbers.size(); ++i) {
    std::copy_n(unread_.data() + read.numbers[i] * d, d, x_.data() + i * d);
    if (read.numbers[i] != i)
      std::copy_n(ple_.data() + read.numbers[i] * width, width, ple_.data() + i * width);
  }
  rows_ = &read.rows;
  attention_.plan(read.rows.positions, read.rows.timelines);
  bool goes_on = true;
  for (std::uint32_t layer = n_layers_to_states_; goes_on && layer < desc_.n_layers; ++layer) {
    PC_CHECK_OK(block(layer));
    PC_TRY(goes_on, proceed(layer + 1));
  }
  for (std::size_t i = 0; i < read.numbers.size(); ++i)
    std::copy_n(x_.data() + i * d, d, unread_.data() + read.numbers[i] * d);
  std::copy_n(unread_.data(), n_all, x_.data());
  return ok();
}

// x = scale * E[token] (+ P[position])
void Transformer::embed() {
  for (std::uint32_t i = 0; i < n_tokens(); ++i) {
    float* x = x_.data() + std::size_t{i} * desc_.d_model;
    read_row(desc_.embedding, static_cast<std::size_t>(rows_->tokens[i]), x);
    if (desc_.embedding_scale != 1.0f) {
      for (std::uint32_t c = 0; c < desc_.d_model; ++c) x[c] *= desc_.embedding_scale;
    }
    if (desc_.position_embedding.data) {
      read_row(desc_.position_embedding, static_cast<std::size_t>(rows_->positions[i]), h_.data());
      kernels_.add(h_.data(), 1.0f, desc_.d_model, x);
    }
  }
}

void Transformer::read_row(const pc_tensor& table, std::size_t row, float* out) const {
  const auto type = static_cast<simd::Type>(table.dtype);
  const auto* data = static_cast<const std::byte*>(table.data);
  kernels_.to_f32(data + row * simd::bytes_of(type, table.cols), type, table.cols, out);
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

Status Transformer::sweep_states(const Rows& rows, std::uint32_t n_states, Proceed proceed) {
  const pc_layer& last = layer_of_states(desc_, n_states - 1);
  const auto last_index = static_cast<std::uint32_t>(&last - desc_.layers);
  PC_EXPECT(last_index < desc_.n_layers);
  PC_CHECK_OK(begin_sweep(rows));
  for (std::uint32_t layer = 0;; ++layer) {
    PC_TRY(const bool goes_on, proceed(layer));
    if (!goes_on) return ok();
    if (layer == last_index) break;
    PC_CHECK_OK(block(layer));
  }
  const Normed norm(*this, last.attn_norm, last.attn_norm_bias, h_.data());
  return project(last_index, norm.rows());
}

Status Transformer::block(std::uint32_t index) {
  const pc_layer& layer = desc_.layers[index];
  PC_CHECK_OK(halves(index));
  if (layer.ple_gate.data) PC_CHECK_OK(add_token_input(index));
  if (layer.output_scale.data) scale_stream(*vector_of(layer.output_scale));
  return ok();
}

void Transformer::scale_stream(float scale) {
  parallel_.for_each(n_tokens(), [&](std::uint32_t i, std::uint32_t) {
    float* x = x_.data() + std::size_t{i} * desc_.d_model;
    for (std::uint32_t c = 0; c < desc_.d_model; ++c) x[c] *= scale;
  });
}

// x += mixer(norm(x)); x += ffn(norm(x)); or both from the x before.
Status Transformer::halves(std::uint32_t index) {
  const pc_layer& layer = desc_.layers[index];
  const Normed attn(*this, layer.attn_norm, layer.attn_norm_bias, h_.data());
  if (!desc_.parallel) {
    const bool twice = attends(layer) && is_recurrent(layer);
    PC_CHECK_OK(mixer(index, twice ? attn.made() : attn.rows()));
    if (!has_network(layer)) return ok();
    const Normed ffn(*this, layer.ffn_norm, layer.ffn_norm_bias, h_.data());
    if (layer.mixture.n_experts != 0) return mix(layer, ffn.made());
    return feed_forward(layer, ffn.rows());
  }
  const Normed ffn(*this, layer.ffn_norm, layer.ffn_norm_bias, branch_.data());
  const Gemm::Input h = attn.made();  // attention adds to x before the other product reads it
  const Gemm::Input h2 = layer.ffn_norm.data ? ffn.made() : h;
  PC_CHECK_OK(mixer(index, h));
  return feed_forward(layer, h2);
}

// q = Wq h; k = rotate(Wk h) and v = Wv h are written to their slots, where the layer has some
Status Transformer::project(std::uint32_t index, const Gemm::Input& h) {
  const pc_layer& layer = desc_.layers[index];
  if (is_latent(layer)) return project_latent(index, h);
  const Gemm::Product products[] = {{&layer.wq, layer.q_gated ? gated_q_.data() : q_.data()},
                                    {&layer.wk, k_.data()},
                                    {&layer.wv, v_.data()}};
  const std::size_t n_products = !has_states(layer) ? 1 : layer.wv.data ? 3 : 2;
  PC_CHECK_OK(gemm_.linear(h, std::span(products, n_products), false));
  prepare_heads(index);
  return ok();
}

// The same, of queries in two steps maybe, and with heads that meet the latent. What Wq makes
// stands in mixed_, which is free until attention.
Status Transformer::project_latent(std::uint32_t index, const Gemm::Input& h) {
  const pc_layer& layer = desc_.layers[index];
  const pc_latent& latent = layer.latent;
  const bool two_steps = latent.q_down.data != nullptr;
  const Gemm::Product products[] = {
      {two_steps ? &latent.q_down : &layer.wq, two_steps ? q_.data() : mixed_.data()},
      {&layer.wk, k_.data()}};
  PC_CHECK_OK(gemm_.linear(h, products, false));
  if (two_steps) {
    const auto norm = [&](std::uint32_t i) {
      float* const row = q_.data() + std::size_t{i} * latent.q_down.rows;
      kernels_.rms_norm(row, vector_of(latent.q_norm), latent.q_down.rows, latent.norm_eps, row);
    };
    PC_CHECK_OK(gemm_.linear({q_.data(), n_tokens(), norm}, layer.wq, false, mixed_.data()));
  }
  PC_CHECK_OK(latent_heads_.absorb(layer, mixed_.data(), n_tokens(), &gemm_, q_.data()));
  prepare_heads(index);
  return ok();
}

// What a token learns of others, of one kind or two. Where it is of two, h is rows that are made,
// since the first adds to x before the second reads them.
Status Transformer::mixer(std::uint32_t index, const Gemm::Input& h) {
  const pc_layer& layer = desc_.layers[index];
  if (is_recurrent(layer)) PC_CHECK_OK(recur(index, h));
  return attends(layer) ? attention(index, h) : ok();
}

// x += Wout y, where y is what the layer's recurrence makes of Win h and its state
Status Transformer::recur(std::uint32_t index, const Gemm::Input& h) {
  const pc_layer& layer = desc_.layers[index];
  const pc_recurrent& r = layer.recurrent;
  const RecurrentLayer recurrent{r, index, recurrent_numbers_[index]};
  if (r.n_heads != 0) {
    PC_CHECK_OK(head_states_.run(recurrent, h, rows_->recurrent, &gemm_, mixed_.data()));
  } else {
    PC_CHECK_OK(gemm_.linear(h, r.in, false, recurrent_.data()));
    short_convolution(recurrent, rows_->recurrent, kernels_, parallel_, recurrent_.data(),
                      mixed_.data());
  }
  static constexpr pc_tensor kNoBias{};
  return add_branch({mixed_.data(), n_tokens()}, r.out, kNoBias, layer.attn_post_norm,
                    desc_.recurrent_out_scale);
}

// x += Wo attention(rotate(Wq h), rotate(Wk h), Wv h)
Status Transformer::attention(std::uint32_t index, const Gemm::Input& h) {
  const pc_layer& layer = desc_.layers[index];
  PC_CHECK_OK(project(index, h));
  attention_.run(index, q_.data(), mixed_.data());
  if (layer.q_gated)
    parallel_.for_each(n_tokens(), [&](std::uint32_t i, std::uint32_t) { gate_heads(layer, i); });
  const float* made = mixed_.data();
  if (is_latent(layer)) {
    PC_CHECK_OK(latent_heads_.expand(layer, made, n_tokens(), &gemm_, q_.data()));
    made = q_.data();
  }
  return add_branch({made, n_tokens()}, layer.wo, layer.bo, layer.attn_post_norm,
                    desc_.attn_out_scale);
}

// x += Wdown (act(Wgate h) * Wup h), or Wdown act(Wup h)
Status Transformer::feed_forward(const pc_layer& layer, const Gemm::Input& h) {
  const pc_ffn& ffn = layer.ffn;
  PC_CHECK_OK(inner(ffn, h));
  const auto activate_row = [&](std::uint32_t i) { activate(ffn, i); };
  return add_branch({ffn.gate.data ? gate_.data() : up_.data(), n_tokens(), activate_row}, ffn.down,
                    ffn.b_down, layer.ffn_post_norm, desc_.ffn_out_scale);
}

// up_ = Wup h, gate_ = Wgate h
Status Transformer::inner(const pc_ffn& ffn, const Gemm::Input& h) {
  const Gemm::Product products[] = {{&ffn.up, up_.data()}, {&ffn.gate, gate_.data()}};
  return gemm_.linear(h, std::span(products, ffn.gate.data ? 2 : 1), false);
}

void Transformer::activate(const pc_ffn& ffn, std::uint32_t row) {
  const std::uint32_t width = ffn.up.rows;
  float* up = up_.data() + std::size_t{row} * width;
  float* gate = ffn.gate.data ? gate_.data() + std::size_t{row} * width : nullptr;
  add_bias(ffn.b_up, up);
  if (gate) add_bias(ffn.b_gate, gate);
  for (std::uint32_t i = 0; gate && desc_.ffn_gate_scale != 1.0f && i < width; ++i)
    gate[i] *= desc_.ffn_gate_scale;
  kernels_.activate(static_cast<simd::Activation>(desc_.activation), gate ? gate : up,
                    gate ? up : nullptr, width);
}

// x += residual_scale * norm(mixture(h) + weight * ffn(h)). h: rows that are made, in h_.
Status Transformer::mix(const pc_layer& layer, const Gemm::Input& h) {
  const pc_ffn& ffn = layer.ffn;
  const pc_mixture& mixture = layer.mixture;
  if (has_ffn(layer)) {
    PC_CHECK_OK(inner(ffn, h));
    const auto activate_row = [&](std::uint32_t i) { activate(ffn, i); };
    PC_CHECK_OK(gemm_.linear({ffn.gate.data ? gate_.data() : up_.data(), n_tokens(), activate_row},
                             ffn.down, false, branch_.data()));
    if (mixture.ffn_gate.data)
      PC_CHECK_OK(gemm_.linear(h, mixture.ffn_gate, false, ffn_gate_.data()));
    parallel_.for_each(n_tokens(), [&](std::uint32_t i, std::uint32_t) {
      float* made = branch_.data() + std::size_t{i} * desc_.d_model;
      add_bias(ffn.b_down, made);
      if (mixture.ffn_gate.data) weigh_ffn(i);
      if (mixture.ffn_made_norm.data) norm_row(mixture.ffn_made_norm, {}, made, made);
    });
  }
  PC_CHECK_OK(add_mixture(mixture, h, has_ffn(layer)));
  parallel_.for_each(n_tokens(), [&](std::uint32_t i, std::uint32_t) {
    add_to_stream(layer.ffn_post_norm, desc_.residual_scale, i);
  });
  return ok();
}

// branch (+)= norm(mixture(h)); the router and the experts may read norms of the stream instead,
// which take the place of h, and so does what the experts make where that is normed.
Status Transformer::add_mixture(const pc_mixture& mixture, const Gemm::Input& h, bool accumulate) {
  static constexpr pc_tensor kNoBias{};
  const auto normed = [&](const pc_tensor& norm) {
    return norm.data ? Normed(*this, norm, kNoBias, h_.data()).made() : h;
  };
  PC_CHECK_OK(mixture_.choose(mixture, normed(mixture.router_norm).x, n_tokens(), &gemm_));
  const Gemm::Input x = normed(mixture.expert_norm);
  if (!mixture.made_norm.data)
    return mixture_.run(mixture, x.x, n_tokens(), accumulate, &gemm_, branch_.data());
  PC_CHECK_OK(mixture_.run(mixture, x.x, n_tokens(), false, &gemm_, h_.data()));
  parallel_.for_each(n_tokens(), [&](std::uint32_t i, std::uint32_t) {
    const std::size_t at = std::size_t{i} * desc_.d_model;
    norm_row(mixture.made_norm, {}, h_.data() + at, h_.data() + at);
    if (!accumulate) std::fill_n(branch_.data() + at, desc_.d_model, 0.0f);
    kernels_.add(h_.data() + at, 1.0f, desc_.d_model, branch_.data() + at);
  });
  return ok();
}

// What the layer's own network made of a row counts by the sigmoid of its gate's logit.
void Transformer::weigh_ffn(std::uint32_t row) {
  const float weight = 1.0f / (1.0f + std::exp(-ffn_gate_.data()[row]));
  float* made = branch_.data() + std::size_t{row} * desc_.d_model;
  for (std::uint32_t c = 0; c < desc_.d_model; ++c) made[c] *= weight;
}

// x += residual_scale * own_scale * norm(W h + b)
Status Transformer::add_branch(const Gemm::Input& h, const pc_tensor& w, const pc_tensor& bias,
                               const pc_tensor& post_norm, float own_scale) {
  const float scale = desc_.residual_scale * own_scale;
  const bool direct = !post_norm.data && scale == 1.0f;
  float* y = direct ? x_.data() : branch_.data();
  PC_CHECK_OK(gemm_.linear(h, w, direct, y));
  if (direct && !bias.data) return ok();
  parallel_.for_each(n_tokens(), [&](std::uint32_t i, std::uint32_t) {
    add_bias(bias, y + std::size_t{i} * desc_.d_model);
    if (!direct) add_to_stream(post_norm, scale, i);
  });
  return ok();
}

// x += scale * norm(branch), of one row
void Transformer::add_to_stream(const pc_tensor& post_norm, float scale, std::uint32_t row) {
  const std::size_t at = std::size_t{row} * desc_.d_model;
  float* branch = branch_.data() + at;
  if (post_norm.data) norm_row(post_norm, {}, branch, branch);
  kernels_.add(branch, scale, desc_.d_model, x_.data() + at);
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

const float* Transformer::read_hidden(std::span<const std::uint32_t> rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    norm_row(desc_.final_norm, desc_.final_norm_bias, stream(rows[i], 1).data(),
             h_.data() + i * desc_.d_model);
  }
  return h_.data();
}

// logits = Whead norm(x)
Status Transformer::read_logits(std::span<const std::uint32_t> rows, float* logits) {
  read_hidden(rows);
  return gemm_.linear({h_.data(), static_cast<std::uint32_t>(rows.size())}, desc_.lm_head, false,
                      logits);
}

void Transformer::cap_logits(float* logits) const {
  if (desc_.logit_scale == 1.0f && desc_.logit_softcap == 0.0f) return;
  const float cap = desc_.logit_softcap;
  for (std::uint32_t v = 0; v < desc_.vocab_size; ++v) {
    logits[v] *= desc_.logit_scale;
    if (cap != 0.0f) logits[v] = cap * std::tanh(logits[v] / cap);
  }
}

}  // namespace pc
