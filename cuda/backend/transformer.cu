#include <algorithm>
#include <cstring>

#include "cuda/attention/received.h"
#include "cuda/backend/transformer.h"

namespace pc::cuda {
namespace {

constexpr const char* kComputing = "computing a step";

// The kernels for tensor cores take 75 KiB of shared memory for heads up to 128, which every
// device since sm_80 has, and up to 145 KB for wider ones, which consumer devices have not.
constexpr std::uint32_t kHeadDimForAll = 128;
constexpr std::size_t kSharedOfWideHeads = 145 * 1000;

std::uint32_t widest_input(const Model& m) {
  return std::max({m.desc.d_model, m.desc.d_ffn, m.q_width()});
}

}  // namespace

Transformer::Transformer(const Model& model, bool exact, const cudaDeviceProp& device,
                         cudaStream_t stream)
    : model_(model),
      exact_(exact),
      stream_(stream),
      plan_(model.kv, model.n_heads, static_cast<std::uint32_t>(device.multiProcessorCount),
            !exact && (model.kv.head_dim <= kHeadDimForAll ||
                       device.sharedMemPerBlockOptin >= kSharedOfWideHeads)) {}

Result<Transformer> Transformer::make(const Model& model, bool exact, std::uint32_t max_rows,
                                      const cudaDeviceProp& device, cudaStream_t stream) {
  Transformer t(model, exact, device, stream);
  PC_TRY(Products products, Products::make(stream, exact, max_rows, widest_input(model)));
  t.products_.push_back(std::move(products));
  PC_CHECK_OK(t.take_scratch(max_rows));
  return Result<Transformer>(std::move(t));
}

Status Transformer::take_scratch(std::uint32_t max_rows) {
  const std::size_t n = max_rows;
  const pc_model_desc& d = model_.desc;
  PC_TRY(x_, DeviceBuffer<float>::make(n * d.d_model));
  PC_TRY(h_, DeviceBuffer<float>::make(n * widest_input(model_)));
  PC_TRY(h2_, DeviceBuffer<float>::make(d.parallel ? n * d.d_model : 0));
  PC_TRY(branch_, DeviceBuffer<float>::make(n * d.d_model));
  PC_TRY(qkv_, DeviceBuffer<float>::make(n * model_.qkv_width()));
  PC_TRY(q_, DeviceBuffer<float>::make(n * model_.q_width()));
  PC_TRY(inner_, DeviceBuffer<float>::make(n * model_.inner_width()));
  PC_TRY(ranges_, DeviceBuffer<RowRange>::make(n));
  PC_TRY(host_ranges_, PinnedBuffer<RowRange>::make(n));
  PC_TRY(last_rows_, DeviceBuffer<std::uint32_t>::make(n));
  for (const Rope& rope : model_.ropes) {
    for (auto* turns : {&row_turns_, &key_turns_, &move_turns_}) {
      PC_TRY(auto buffer, DeviceBuffer<float2>::make(turns == &move_turns_ ? 0 : n * rope.half));
      turns->push_back(std::move(buffer));
    }
  }
  return ok();
}

// All that the host has to say about a sweep, in one copy.
Status Transformer::send(const SweepRows& rows) {
  n_ = rows.size();
  const bool weighted =
      std::ranges::any_of(rows.weighted, [](const auto& w) { return w.weights != nullptr; });
  plan_.make(rows.timelines, weighted);
  std::vector<std::byte> all;
  const auto add = [&all](const auto& array) {
    constexpr std::size_t kAlign = 16;
    const std::size_t at = (all.size() + kAlign - 1) / kAlign * kAlign;
    const std::size_t bytes = array.size() * sizeof(array[0]);
    all.resize(at + bytes);
    if (bytes != 0) std::memcpy(all.data() + at, array.data(), bytes);
    return at;
  };
  at_ = {add(rows.tokens),     add(rows.positions),     add(rows.key_positions),
         add(rows.slots),      add(plan_.plain.tasks),  add(plan_.tiles.tasks),
         add(plan_.few.tasks), add(plan_.visits),       0,
         add(plan_.moves),     add(plan_.first_of_row), add(plan_.partials)};
  const std::size_t words = add(plan_.words);
  const std::size_t bytes = all.size() + 16 + plan_.uses.size() * sizeof(Use);
  PC_CHECK_OK(grow(device_, bytes));
  PC_CHECK_OK(grow(host_, bytes));
  for (std::size_t u = 0; u < plan_.uses.size(); ++u) {
    if (plan_.hidden_at[u] != AttentionPlan::kNone)
      plan_.uses[u].hidden = sent<std::uint32_t>(words) + plan_.hidden_at[u];
    if (plan_.positions_at[u] != AttentionPlan::kNone)
      plan_.uses[u].positions = sent<std::int32_t>(words) + plan_.positions_at[u];
  }
  at_.uses = add(plan_.uses);
  std::memcpy(host_.data(), all.data(), all.size());
  PC_CHECK_OK(check(
      cudaMemcpyAsync(device_.data(), host_.data(), all.size(), cudaMemcpyHostToDevice, stream_),
      kComputing));
  const std::size_t partials = std::size_t{plan_.n_partials} * model_.n_heads;
  PC_CHECK_OK(grow(sums_, partials));
  PC_CHECK_OK(grow(partial_out_, partials * model_.kv.head_dim));
  for (std::size_t r = 0; r < model_.ropes.size(); ++r)
    PC_CHECK_OK(grow(move_turns_[r], plan_.moves.size() * model_.ropes[r].half));
  return send_weighted(rows);
}

Status Transformer::send_weighted(const SweepRows& rows) {
  weighted_.clear();
  std::size_t n = 0;
  for (std::size_t t = 0; t < rows.weighted.size(); ++t) {
    const SweepRows::Weighted& w = rows.weighted[t];
    std::uint64_t* to = w.weights;
    for (std::uint32_t v = 0; to && v < w.n_views; ++v) {
      const View& view = rows.timelines[t].views[w.first_view + v];
      const std::size_t use = plan_.use_of(view);
      weighted_.push_back({use, view, n, to});
      to += view.end - view.begin;
      n += view.end - view.begin;
    }
  }
  if (n == 0) return ok();
  PC_CHECK_OK(grow(weights_, n));
  PC_CHECK_OK(grow(log_sums_, std::size_t{n_} * model_.n_heads));
  return check(cudaMemsetAsync(weights_.data(), 0, n * sizeof(std::uint64_t), stream_), kComputing);
}

Status Transformer::sweep(const SweepRows& rows, std::uint32_t n_layers, const Proceed& proceed) {
  PC_CHECK_OK(send(rows));
  rotate();
  PC_CHECK_OK(embed());
  const std::uint32_t whole = n_layers == 0 ? model_.desc.n_layers : n_layers - 1;
  for (std::uint32_t layer = 0; layer < whole; ++layer) {
    PC_TRY(const bool goes_on, proceed(layer));
    if (!goes_on) return ok();
    PC_CHECK_OK(block(layer));
  }
  PC_TRY(const bool goes_on, proceed(whole));
  if (goes_on && n_layers != 0) {
    const Layer& last = model_.layers[whole];
    PC_CHECK_OK(project(whole, normed(last.attn_norm, last.attn_norm_bias, last.qkv, h_.data())));
  }
  return check_launches(kComputing);
}

void Transformer::rotate() {
  for (std::size_t r = 0; r < model_.ropes.size(); ++r) {
    const Rope& rope = model_.ropes[r];
    const auto make = [&](std::size_t at, std::size_t n, const DeviceBuffer<float2>& to) {
      make_rotations(sent<std::int32_t>(at), static_cast<std::uint32_t>(n), rope.inv_freq,
                     rope.half, to.data(), stream_);
    };
    make(at_.positions, n_, row_turns_[r]);
    make(at_.key_positions, n_, key_turns_[r]);
    make(at_.moves, plan_.moves.size(), move_turns_[r]);
  }
}

// x = scale * E[token] (+ P[position])
Status Transformer::embed() {
  const std::size_t size = std::size_t{n_} * model_.desc.d_model;
  gather_rows(model_.embedding, sent<std::int32_t>(at_.tokens), n_, x_.data(), stream_);
  const bool learned = model_.position_embedding.data != nullptr;
  if (learned)
    gather_rows(model_.position_embedding, sent<std::int32_t>(at_.positions), n_, branch_.data(),
                stream_);
  if (learned || model_.desc.embedding_scale != 1.0f)
    scale_and_add(x_.data(), model_.desc.embedding_scale, learned ? branch_.data() : nullptr, size,
                  stream_);
  return ok();
}

NormArgs Transformer::norm_args(const float* weight, const float* bias) const {
  const pc_model_desc& d = model_.desc;
  return {static_cast<Norm>(d.norm), d.norm_eps, d.d_model, d.d_model, weight, bias};
}

bool Transformer::read_bf16(const std::vector<ProductAt>& products) const {
  return std::ranges::all_of(
      products, [this](const ProductAt& p) { return products_.front().reads_bf16(p.weight, n_); });
}

// The residual stream normed, as the products that read it want it.
Rows Transformer::normed(const float* weight, const float* bias,
                         const std::vector<ProductAt>& readers, float* to) {
  const Rows rows{to, read_bf16(readers)};
  norm_rows(norm_args(weight, bias), x_.data(), nullptr, n_, rows, stream_);
  return rows;
}

// x += attention(norm(x)); x += ffn(norm(x)); or both from the x before.
Status Transformer::block(std::uint32_t index) {
  const Layer& layer = model_.layers[index];
  if (!model_.desc.parallel) {
    PC_CHECK_OK(
        attention(index, normed(layer.attn_norm, layer.attn_norm_bias, layer.qkv, h_.data())));
    return feed_forward(layer, normed(layer.ffn_norm, layer.ffn_norm_bias, layer.inner, h_.data()));
  }
  const bool own = layer.ffn_norm != nullptr;
  const Rows h2 = normed(own ? layer.ffn_norm : layer.attn_norm,
                         own ? layer.ffn_norm_bias : layer.attn_norm_bias, layer.inner, h2_.data());
  PC_CHECK_OK(
      attention(index, normed(layer.attn_norm, layer.attn_norm_bias, layer.qkv, h_.data())));
  return feed_forward(layer, h2);
}

Status Transformer::multiply_all(const std::vector<ProductAt>& products, Rows x, float* y,
                                 std::uint32_t stride) {
  for (const ProductAt& p : products)
    PC_CHECK_OK(products_.front().multiply(p.weight, x, n_, y + p.at, stride, false));
  return ok();
}

// q = Wq h; k = rotate(Wk h) and v = Wv h are written to their slots
Status Transformer::project(std::uint32_t index, Rows h) {
  const Layer& layer = model_.layers[index];
  const pc_model_desc& d = model_.desc;
  const std::uint32_t width = model_.qkv_width(), q_width = model_.q_width();
  PC_CHECK_OK(multiply_all(layer.qkv, h, qkv_.data(), width));
  add_bias(qkv_.data(), width, layer.qkv_bias, width, d.qkv_clamp, n_, stream_);
  // Norms of all heads at once come before the heads are looked at one by one.
  const auto whole = [&](const float* norm, std::uint32_t norm_width) {
    return norm && norm_width != model_.kv.head_dim;
  };
  const NormArgs rms{Norm::kRms, d.norm_eps, 0, width, nullptr, nullptr};
  const bool whole_q = whole(layer.q_norm, layer.q_norm_width),
             whole_k = whole(layer.k_norm, layer.k_norm_width);
  if (whole_q) {
    NormArgs args = rms;
    args.width = layer.q_norm_width;
    args.weight = layer.q_norm;
    norm_parts(args, 1, qkv_.data(), n_, stream_);
  }
  if (whole_k) {
    NormArgs args = rms;
    args.width = layer.k_norm_width;
    args.weight = layer.k_norm;
    norm_parts(args, 1, qkv_.data() + q_width, n_, stream_);
  }
  HeadsArgs heads{};
  heads.shape = model_.kv;
  heads.layer = index;
  heads.n_heads = model_.n_heads;
  heads.eps = d.norm_eps;
  heads.q_norm = whole_q ? nullptr : layer.q_norm;
  heads.k_norm = whole_k ? nullptr : layer.k_norm;
  if (layer.rope != PC_NO_ROPE) {
    const Rope& rope = model_.ropes[layer.rope];
    heads.half = rope.half;
    heads.interleaved = rope.interleaved;
    heads.rope_scale = rope.scale;
    heads.rotations = key_turns_[layer.rope].data();
  }
  heads.qkv = qkv_.data();
  heads.stride = width;
  heads.slots = sent<Slot>(at_.slots);
  heads.q = q_.data();
  store_heads(heads, n_, stream_);
  return ok();
}

AttentionArgs Transformer::attention_args(std::uint32_t index) {
  const Layer& layer = model_.layers[index];
  const pc_model_desc& d = model_.desc;
  AttentionArgs args{};
  args.shape = model_.kv;
  args.layer = index;
  args.n_heads = model_.n_heads;
  args.window = layer.window;
  if (layer.rope != PC_NO_ROPE) {
    const Rope& rope = model_.ropes[layer.rope];
    args.half = rope.half;
    args.rope_scale = rope.scale;
    args.rotations = {row_turns_[layer.rope].data(), move_turns_[layer.rope].data()};
  }
  args.attn_scale = model_.attn_scale;
  args.softcap = d.attn_softcap;
  args.slopes = model_.alibi_slopes;
  args.positions = sent<std::int32_t>(at_.positions);
  args.q = q_.data();
  args.visits = sent<Visit>(at_.visits);
  args.uses = sent<Use>(at_.uses);
  args.out = h_.data();
  args.out_bf16 = products_.front().reads_bf16(layer.wo, n_);
  args.sums = sums_.data();
  args.partial_out = partial_out_.data();
  return args;
}

// x += Wo attention(rotate(Wq h), rotate(Wk h), Wv h)
Status Transformer::attention(std::uint32_t index, Rows h) {
  PC_CHECK_OK(project(index, h));
  AttentionArgs args = attention_args(index);
  const auto attend = [&](const AttentionPlan::Tasks& tasks, std::size_t at, auto kernel) {
    args.tasks = sent<Task>(at);
    if (!tasks.tasks.empty())
      kernel(args, static_cast<std::uint32_t>(tasks.tasks.size()), tasks.most_rows, stream_);
  };
  attend(plan_.plain, at_.plain, attend_plain);
  attend(plan_.tiles, at_.tiles, attend_tiles);
  attend(plan_.few, at_.few, attend_few);
  if (plan_.n_partials != 0) {
    merge_attention({n_, model_.n_heads, model_.kv.head_dim, sent<std::uint32_t>(at_.first_of_row),
                     sent<std::uint32_t>(at_.partials), sums_.data(), partial_out_.data(), args.out,
                     args.out_bf16, weighted_.empty() ? nullptr : log_sums_.data()},
                    stream_);
  }
  for (const WeightedView& w : weighted_)
    add_received({args, w.view.planes, w.view.begin, w.view.end, args.uses + w.use,
                  log_sums_.data(), PC_WEIGHT_UNIT, weights_.data() + w.at},
                 stream_);
  const Layer& layer = model_.layers[index];
  return add_output(layer.wo, {args.out, args.out_bf16}, layer.bo, layer.attn_post_norm);
}

// x += Wdown (act(Wgate h) * Wup h), or Wdown act(Wup h)
Status Transformer::feed_forward(const Layer& layer, Rows h) {
  const std::uint32_t width = model_.inner_width(), d_ffn = model_.desc.d_ffn;
  PC_CHECK_OK(multiply_all(layer.inner, h, inner_.data(), width));
  const Rows active{h_.data(), products_.front().reads_bf16(layer.w_down, n_)};
  activate_rows({static_cast<Activation>(model_.desc.activation), d_ffn, width, inner_.data(),
                 model_.gated ? inner_.data() + d_ffn : nullptr, layer.b_up, layer.b_gate},
                n_, active, stream_);
  return add_output(layer.w_down, active, layer.b_down, layer.ffn_post_norm);
}

// x += residual_scale * norm(W h + b)
Status Transformer::add_output(const Weight& w, Rows x, const float* bias, const float* post_norm) {
  const std::uint32_t d = model_.desc.d_model;
  const float scale = model_.desc.residual_scale;
  if (!post_norm && scale == 1.0f) {
    PC_CHECK_OK(products_.front().multiply(w, x, n_, x_.data(), d, true));
    add_bias(x_.data(), d, bias, d, 0.0f, n_, stream_);
    return ok();
  }
  PC_CHECK_OK(products_.front().multiply(w, x, n_, branch_.data(), d, false));
  add_branch(norm_args(post_norm, nullptr), bias, scale, branch_.data(), x_.data(), n_, stream_);
  return ok();
}

Status Transformer::wait() {
  PC_CHECK_OK(check(cudaStreamSynchronize(stream_), kComputing));
  return check_launches(kComputing);
}

Result<std::span<const RowRange>> Transformer::measure() {
  measure_rows(x_.data(), model_.desc.d_model, n_, ranges_.data(), stream_);
  PC_CHECK_OK(check(cudaMemcpyAsync(host_ranges_.data(), ranges_.data(), n_ * sizeof(RowRange),
                                    cudaMemcpyDeviceToHost, stream_),
                    kComputing));
  PC_CHECK_OK(wait());
  return std::span<const RowRange>(host_ranges_.data(), n_);
}

Status Transformer::final_norm(std::span<const std::uint32_t> rows, Rows to) {
  PC_CHECK_OK(check(cudaMemcpyAsync(last_rows_.data(), rows.data(), rows.size_bytes(),
                                    cudaMemcpyHostToDevice, stream_),
                    kComputing));
  norm_rows(norm_args(model_.final_norm, model_.final_norm_bias), x_.data(), last_rows_.data(),
            static_cast<std::uint32_t>(rows.size()), to, stream_);
  return ok();
}

Status Transformer::read_hidden(std::span<const std::uint32_t> rows, float* to) {
  PC_CHECK_OK(final_norm(rows, {h_.data(), false}));
  const std::size_t bytes = rows.size() * model_.desc.d_model * sizeof(float);
  PC_CHECK_OK(
      check(cudaMemcpyAsync(to, h_.data(), bytes, cudaMemcpyDeviceToHost, stream_), kComputing));
  PC_CHECK_OK(check_launches(kComputing));
  return check(cudaStreamSynchronize(stream_), kComputing);
}

// logits = Whead norm(x)
Status Transformer::read_logits(std::span<const std::uint32_t> rows, std::span<float* const> to,
                                std::vector<RowRange>* ranges) {
  const auto n = static_cast<std::uint32_t>(rows.size());
  const std::size_t vocabulary = model_.desc.vocab_size;
  PC_CHECK_OK(reserve_logits(n));
  const Rows h{h_.data(), products_.front().reads_bf16(model_.lm_head, n)};
  PC_CHECK_OK(final_norm(rows, h));
  PC_CHECK_OK(products_.front().multiply(model_.lm_head, h, n, logits_.data(),
                                         model_.desc.vocab_size, false));
  measure_rows(logits_.data(), model_.desc.vocab_size, n, ranges_.data(), stream_);
  if (model_.desc.logit_scale != 1.0f || model_.desc.logit_softcap != 0.0f)
    cap_rows(logits_.data(), n * vocabulary, model_.desc.logit_scale, model_.desc.logit_softcap,
             stream_);
  ranges->resize(n);
  PC_CHECK_OK(check(cudaMemcpyAsync(ranges->data(), ranges_.data(), n * sizeof(RowRange),
                                    cudaMemcpyDeviceToHost, stream_),
                    kComputing));
  for (std::uint32_t i = 0; i < n; ++i)
    PC_CHECK_OK(check(cudaMemcpyAsync(to[i], logits_.data() + i * vocabulary,
                                      vocabulary * sizeof(float), cudaMemcpyDeviceToHost, stream_),
                      kComputing));
  PC_CHECK_OK(check_launches(kComputing));
  return check(cudaStreamSynchronize(stream_), kComputing);
}

Status Transformer::read_weights() {
  std::vector<std::uint64_t> got;
  for (const WeightedView& w : weighted_) {
    got.resize(w.view.end - w.view.begin);
    PC_CHECK_OK(check(cudaMemcpyAsync(got.data(), weights_.data() + w.at,
                                      got.size() * sizeof(got[0]), cudaMemcpyDeviceToHost, stream_),
                      kComputing));
    PC_CHECK_OK(check(cudaStreamSynchronize(stream_), kComputing));
    for (std::size_t i = 0; i < got.size(); ++i) w.to[i] += got[i];
  }
  return ok();
}

}  // namespace pc::cuda
