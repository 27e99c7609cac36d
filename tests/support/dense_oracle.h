// The independent oracle: a dense forward pass in double precision over one long list of rows, each
// with explicit positions and an explicit list of the rows it sees. No segments, no caches, no
// rotation of queries by offsets: what any plan must equal (DESIGN 6, oracle 2).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "runtime/backend/backend.h"
#include "tests/support/recurrent_oracle.h"
#include "tests/support/tiny_model.h"

namespace pc::test {

struct DenseRow {
  std::int32_t token = 0;
  std::uint32_t pass = 0;           // rows of one pass see each other at `position`
  std::int32_t position = 0;        // in its own pass
  std::int32_t placed = 0;          // as rows of another pass see it
  std::vector<std::uint32_t> sees;  // rows, itself included; windows are applied on top
};

// The squares of the attention weights of the rows [from, end) on each row, over all layers and
// heads.
struct Received {
  std::uint32_t from = 0;
  std::vector<double> weights = {};  // [rows]
};

class DenseOracle {
 public:
  // Of the next forward(); null: nobody asks.
  Received* received = nullptr;

  explicit DenseOracle(const pc_model_desc& desc) : d_(desc) {}

  // Logits of all rows: [rows][vocab_size].
  std::vector<std::vector<double>> forward(const std::vector<DenseRow>& rows) const {
    std::vector<std::uint32_t> all(rows.size());
    for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    return forward(rows, all);
  }

  // Logits of the rows that are asked for: [rows][vocab_size], empty for the others.
  std::vector<std::vector<double>> forward(const std::vector<DenseRow>& rows,
                                           const std::vector<std::uint32_t>& wanted) const {
    const std::size_t n = rows.size();
    std::vector<std::vector<double>> x(n);
    for (std::size_t i = 0; i < n; ++i) {
      for (const float v : widened(d_.embedding, static_cast<std::size_t>(rows[i].token)))
        x[i].push_back(static_cast<double>(d_.embedding_scale) * v);
      if (!d_.position_embedding.data) continue;
      const std::vector<float> place =
          widened(d_.position_embedding, static_cast<std::size_t>(rows[i].position));
      for (std::uint32_t c = 0; c < d_.d_model; ++c) x[i][c] += place[c];
    }
    States states;
    std::vector<Vector> own;  // tokens' own inputs to layers
    if (d_.d_ple != 0) own = token_inputs(rows, x);
    for (std::uint32_t l = 0; l < d_.n_layers; ++l) {
      const pc_layer& w = d_.layers[l];
      layer(rows, w, x, states);
      if (w.ple_gate.data) add_token_input(w, l, own, x);
      for (Vector& v : x)
        for (double& c : v) c *= w.output_scale.data ? TinyModel::at(w.output_scale, 0) : 1.0;
    }
    std::vector<std::vector<double>> logits(n);
    std::vector<Vector> last;
    for (const std::uint32_t i : wanted)
      last.push_back(norm(x[i], d_.final_norm, d_.final_norm_bias));
    last = multiply(d_.lm_head, {}, last);
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      for (double& v : last[k]) v = cap(d_.logit_scale * v, d_.logit_softcap);
      logits[wanted[k]] = std::move(last[k]);
    }
    return logits;
  }

 private:
  using Vector = std::vector<double>;

  static double cap(double x, double limit) {
    return limit == 0 ? x : limit * std::tanh(x / limit);
  }

  // [rows][n_layers * d_ple]
  std::vector<Vector> token_inputs(const std::vector<DenseRow>& rows,
                                   const std::vector<Vector>& x) const {
    std::vector<Vector> own = multiply(d_.ple_projection, {}, x);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::vector<float> token =
          widened(d_.ple_embedding, static_cast<std::size_t>(rows[i].token));
      for (std::size_t at = 0; at < own[i].size(); at += d_.d_ple) {
        Vector part(own[i].begin() + static_cast<std::ptrdiff_t>(at),
                    own[i].begin() + static_cast<std::ptrdiff_t>(at + d_.d_ple));
        for (double& v : part) v /= std::sqrt(static_cast<double>(d_.d_model));
        part = rms_norm(part, d_.ple_norm);
        for (std::size_t c = 0; c < part.size(); ++c)
          own[i][at + c] =
              (part[c] + std::sqrt(static_cast<double>(d_.d_ple)) * token[at + c]) / std::sqrt(2.0);
      }
    }
    return own;
  }

  void add_token_input(const pc_layer& w, std::uint32_t index, const std::vector<Vector>& own,
                       std::vector<Vector>& x) const {
    std::vector<Vector> gate = multiply(w.ple_gate, {}, x);
    for (std::size_t i = 0; i < x.size(); ++i)
      for (std::size_t c = 0; c < d_.d_ple; ++c)
        gate[i][c] = activate(gate[i][c]) * factor(own[i][index * d_.d_ple + c]);
    const std::vector<Vector> made = multiply(w.ple_out, {}, gate);
    for (std::size_t i = 0; i < x.size(); ++i) add(rms_norm(made[i], w.ple_norm), x[i]);
  }

  Vector rms_norm(const Vector& x, const pc_tensor& w) const { return rms_norm(x, w, d_.norm_eps); }
  Vector rms_norm(const Vector& x, const pc_tensor& w, double eps) const {
    double sum = 0;
    for (const double v : x) sum += v * v;
    const double scale = 1.0 / std::sqrt(sum / static_cast<double>(x.size()) + eps);
    Vector y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
      y[i] = x[i] * scale * (TinyModel::at(w, i) + d_.norm_offset);
    return y;
  }

  // Of a whole row, by the model's kind; a norm that is absent changes nothing.
  Vector norm(const Vector& x, const pc_tensor& w, const pc_tensor& bias) const {
    if (!w.data) return x;
    if (d_.norm == PC_NORM_RMS) return rms_norm(x, w);
    const double n = static_cast<double>(x.size());
    double mean = 0, square = 0;
    for (const double v : x) mean += v / n;
    for (const double v : x) square += (v - mean) * (v - mean) / n;
    Vector y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      y[i] =
          (x[i] - mean) / std::sqrt(square + d_.norm_eps) * (TinyModel::at(w, i) + d_.norm_offset);
      if (bias.data) y[i] += TinyModel::at(bias, i);
    }
    return y;
  }

  double activate(double x) const {
    if (d_.activation == PC_ACTIVATION_GELU) return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    if (d_.activation == PC_ACTIVATION_GELU_TANH)
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
    if (d_.activation == PC_ACTIVATION_CLAMPED_SWIGLU) {
      x = std::min(x, 7.0);
      return x / (1 + std::exp(-1.702 * x));
    }
    if (d_.activation == PC_ACTIVATION_RELU_SQUARED) return x > 0 ? x * x : 0;
    return x / (1 + std::exp(-x));
  }
  // What a gate multiplies.
  double factor(double up) const {
    if (d_.activation != PC_ACTIVATION_CLAMPED_SWIGLU) return up;
    return std::min(std::max(up, -7.0), 7.0) + 1;
  }

  // A row of weights of any type.
  static std::vector<float> widened(const pc_tensor& w, std::size_t r) {
    const auto type = static_cast<simd::Type>(w.dtype);
    std::vector<float> row(w.cols);
    simd::kScalarKernels.to_f32(
        static_cast<const std::byte*>(w.data) + r * simd::bytes_of(type, w.cols), type, w.cols,
        row.data());
    return row;
  }

  // Of all rows of x at once, eight beside each other, so that a trained model takes seconds: each
  // sum is one of f64, in the order of the columns, whichever rows stand beside.
  static std::vector<Vector> multiply(const pc_tensor& w, const pc_tensor& bias,
                                      const std::vector<Vector>& x) {
    constexpr std::size_t kBeside = 8;
    const std::size_t n = x.size(), n_groups = (n + kBeside - 1) / kBeside;
    Vector columns(n_groups * w.cols * kBeside);  // [n_groups][cols][kBeside]
    for (std::size_t i = 0; i < n; ++i)
      for (std::uint32_t c = 0; c < w.cols; ++c)
        columns[(i / kBeside * w.cols + c) * kBeside + i % kBeside] = x[i][c];
    std::vector<Vector> y(n, Vector(w.rows));
    for (std::uint32_t r = 0; r < w.rows; ++r) {
      const std::vector<float> row = widened(w, r);
      for (std::size_t group = 0; group < n_groups; ++group) {
        std::array<double, kBeside> sums;
        sums.fill(bias.data ? TinyModel::at(bias, r) : 0.0);
        const double* column = &columns[group * w.cols * kBeside];
        for (std::uint32_t c = 0; c < w.cols; ++c, column += kBeside)
          for (std::size_t k = 0; k < kBeside; ++k)
            sums[k] += static_cast<double>(row[c]) * column[k];
        const std::size_t end = std::min(kBeside, n - group * kBeside);
        for (std::size_t k = 0; k < end; ++k) y[group * kBeside + k][r] = sums[k];
      }
    }
    return y;
  }

  void clamp(Vector& x) const {
    if (d_.qkv_clamp == 0) return;
    for (double& v : x) v = std::min<double>(std::max<double>(v, -d_.qkv_clamp), d_.qkv_clamp);
  }

  // Heads of `x`, normed where the model does and rotated to `position`.
  void rotate(Vector& x, const pc_layer& w, const pc_tensor& head_norm,
              std::int32_t position) const {
    const std::uint32_t head_dim = w.head_dim;
    clamp(x);
    const bool all = head_norm.data && head_norm.cols == x.size() && !w.norm_rotated;
    if (all) x = rms_norm(x, head_norm);
    for (auto at = x.begin(); at != x.end(); at += head_dim) {
      Vector head(at, at + head_dim);
      if (head_norm.data && !all && !w.norm_rotated) head = rms_norm(head, head_norm);
      if (w.rope != PC_NO_ROPE) rotate_head(head, d_.ropes[w.rope], position);
      if (w.norm_rotated) head = rms_norm(head, head_norm);
      std::copy(head.begin(), head.end(), at);
    }
  }

  // Heads of values.
  void norm_values(Vector& x, std::uint32_t head_dim) const {
    for (auto at = x.begin(); at != x.end(); at += head_dim) {
      double sum = 0;
      for (auto v = at; v != at + head_dim; ++v) sum += *v * *v;
      for (auto v = at; v != at + head_dim; ++v) *v /= std::sqrt(sum / head_dim + d_.norm_eps);
    }
  }

  // Keys at the rows' own positions and where they are placed, and values, of all rows.
  struct Kept {
    std::vector<Vector> k, placed, v;
  };
  using States = std::vector<Kept>;  // of the layers that have some

  Kept kept(const std::vector<DenseRow>& rows, const pc_layer& w,
            const std::vector<Vector>& inputs) const {
    Kept made;
    made.k = multiply(w.wk, w.bk, inputs);
    made.v = w.wv.data ? multiply(w.wv, w.bv, inputs) : made.k;
    made.placed = made.k;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      clamp(made.v[i]);
      if (w.norm_values) norm_values(made.v[i], w.head_dim);
      rotate(made.k[i], w, w.k_norm, rows[i].position);
      rotate(made.placed[i], w, w.k_norm, rows[i].placed);
    }
    return made;
  }

  // Latent attention as its paper has it: every head's own keys and values are made. `heads`: the
  // layer with as many K/V heads, of the dimensions that its own queries and keys have.
  static pc_layer with_own_keys(const pc_layer& w) {
    pc_layer heads = w;
    heads.n_kv_heads = w.n_heads;
    heads.head_dim = w.head_dim - w.latent.dims + w.latent.k_up[0].cols;
    return heads;
  }

  std::vector<Vector> latent_queries(const pc_layer& heads,
                                     const std::vector<Vector>& inputs) const {
    const pc_latent& latent = heads.latent;
    std::vector<Vector> q = inputs;
    if (latent.q_down.data) {
      q = multiply(latent.q_down, {}, q);
      for (Vector& v : q) v = rms_norm(v, latent.q_norm, latent.norm_eps);
    }
    q = multiply(heads.wq, {}, q);
    for (Vector& v : q)  // the part that is rotated first
      for (auto at = v.begin(); at != v.end(); at += heads.head_dim)
        std::rotate(at, at + latent.k_up[0].cols, at + heads.head_dim);
    return q;
  }

  Kept kept_of_latent(const std::vector<DenseRow>& rows, const pc_layer& heads,
                      const std::vector<Vector>& inputs) const {
    const pc_latent& latent = heads.latent;
    Kept made;
    for (const Vector& both : multiply(heads.wk, {}, inputs)) {
      const auto middle = both.begin() + latent.dims;
      const Vector c = rms_norm(Vector(both.begin(), middle), latent.norm, latent.norm_eps);
      Vector k, v;
      for (std::uint32_t h = 0; h < heads.n_heads; ++h) {
        Vector nope(latent.k_up[h].cols);
        for (std::size_t r = 0; r < c.size(); ++r) {
          const std::vector<float> row = widened(latent.k_up[h], r);
          for (std::size_t i = 0; i < nope.size(); ++i) nope[i] += c[r] * double{row[i]};
        }
        k.insert(k.end(), middle, both.end());
        k.insert(k.end(), nope.begin(), nope.end());
        const Vector value = multiply(latent.v_up[h], {}, {c})[0];
        v.insert(v.end(), value.begin(), value.end());
      }
      made.k.push_back(k);
      made.v.push_back(v);
    }
    made.placed = made.k;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rotate(made.k[i], heads, {}, rows[i].position);
      rotate(made.placed[i], heads, {}, rows[i].placed);
    }
    return made;
  }

  static void rotate_head(Vector& head, const pc_rope& rope, std::int32_t position) {
    const std::uint32_t half = rope.dims / 2;
    for (std::uint32_t i = 0; i < half; ++i) {
      const double angle = position * rope.inv_freq[i];
      const std::uint32_t first = rope.interleaved ? 2 * i : i;
      const std::uint32_t second = rope.interleaved ? 2 * i + 1 : i + half;
      const double a = head[first], b = head[second];
      head[first] = (a * std::cos(angle) - b * std::sin(angle)) * rope.scale;
      head[second] = (b * std::cos(angle) + a * std::sin(angle)) * rope.scale;
    }
  }

  void layer(const std::vector<DenseRow>& rows, const pc_layer& w, std::vector<Vector>& x,
             States& states) const {
    const std::size_t n = rows.size();
    const std::vector<Vector> before = x;
    std::vector<Vector> inputs(n);
    for (std::size_t i = 0; i < n; ++i) inputs[i] = norm(x[i], w.attn_norm, w.attn_norm_bias);
    const auto add_all = [&](const std::vector<Vector>& made, double scale) {
      for (std::size_t i = 0; i < n; ++i) add(norm(made[i], w.attn_post_norm, {}), x[i], scale);
    };
    if (w.recurrent.kind != PC_RECURRENCE_NONE)
      add_all(recur(rows, w.recurrent, inputs), d_.recurrent_out_scale);
    if (w.wo.data) add_all(attend(rows, w, inputs, states), d_.attn_out_scale);
    for (std::size_t i = 0; i < n; ++i) {
      const bool shared = d_.parallel && !w.ffn_norm.data;
      const Vector& input = d_.parallel ? before[i] : x[i];
      inputs[i] = shared ? norm(input, w.attn_norm, w.attn_norm_bias)
                         : norm(input, w.ffn_norm, w.ffn_norm_bias);
    }
    std::vector<Vector> made =
        w.ffn.up.data ? network(w.ffn, inputs) : std::vector<Vector>(n, Vector(d_.d_model));
    if (w.mixture.n_experts != 0)
      for (std::size_t i = 0; i < n; ++i)
        mix(w.mixture, x[i], inputs[i], w.ffn.up.data != nullptr, made[i]);
    for (std::size_t i = 0; i < n; ++i)
      add(norm(made[i], w.ffn_post_norm, {}), x[i], d_.ffn_out_scale);
  }

  std::vector<Vector> attend(const std::vector<DenseRow>& rows, const pc_layer& w,
                             const std::vector<Vector>& inputs, States& states) const {
    const bool latent = w.latent.dims != 0;
    const pc_layer heads = latent ? with_own_keys(w) : w;
    std::vector<Vector> q = latent ? latent_queries(heads, inputs) : multiply(w.wq, w.bq, inputs);
    std::vector<Vector> mixed(rows.size()), gates;
    if (w.q_gated) gates = take_gates(w.head_dim, q);
    if (w.wk.data)
      states.push_back(latent ? kept_of_latent(rows, heads, inputs) : kept(rows, w, inputs));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rotate(q[i], heads, w.q_norm, rows[i].position);
      mixed[i] = attend(rows, i, heads, q[i], states[w.states]);
      for (std::size_t c = 0; w.q_gated && c < mixed[i].size(); ++c)
        mixed[i][c] *= sigmoid(gates[i][c]);
    }
    return multiply(w.wo, w.bo, mixed);
  }

  // Of heads that are each a query and behind it a gate: the gates, which go.
  static std::vector<Vector> take_gates(std::uint32_t head_dim, std::vector<Vector>& q) {
    std::vector<Vector> gates(q.size()), queries(q.size());
    for (std::size_t i = 0; i < q.size(); ++i)
      for (std::size_t c = 0; c < q[i].size(); ++c)
        (c / head_dim % 2 == 0 ? queries : gates)[i].push_back(q[i][c]);
    q = std::move(queries);
    return gates;
  }

  std::vector<Vector> recur(const std::vector<DenseRow>& rows, const pc_recurrent& r,
                            const std::vector<Vector>& inputs) const {
    RecurrentOracle oracle(r, d_.norm_eps, [&](const pc_tensor& w) {
      return w.data ? multiply(w, {}, inputs) : std::vector<Vector>();
    });
    return multiply(r.out, {}, oracle.all(rows));
  }

  std::vector<Vector> network(const pc_ffn& f, const std::vector<Vector>& inputs) const {
    std::vector<Vector> inner = multiply(f.up, f.b_up, inputs), gate(inputs.size());
    if (f.gate.data) gate = multiply(f.gate, f.b_gate, inputs);
    for (std::size_t i = 0; i < inner.size(); ++i)
      for (std::size_t c = 0; c < inner[i].size(); ++c)
        inner[i][c] = gate[i].empty()
                          ? activate(inner[i][c])
                          : activate(d_.ffn_gate_scale * gate[i][c]) * factor(inner[i][c]);
    return multiply(f.down, f.b_down, inner);
  }

  static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

  // Adds what the experts make of one row to what the layer's own network made, which is weighed.
  void mix(const pc_mixture& m, const Vector& stream, const Vector& input, bool has_ffn,
           Vector& made) const {
    if (m.ffn_gate.data) {
      const double weight = sigmoid(multiply(m.ffn_gate, {}, {input})[0][0]);
      for (double& v : made) v *= weight;
    }
    if (has_ffn && m.ffn_made_norm.data) made = rms_norm(made, m.ffn_made_norm);
    Vector logits =
        multiply(m.router, {}, {m.router_norm.data ? rms_norm(stream, m.router_norm) : input})[0];
    for (std::size_t e = 0; e < logits.size(); ++e)
      logits[e] =
          logits[e] * m.router_scale + (m.router_bias.data ? TinyModel::at(m.router_bias, e) : 0.0);
    const Vector weights = expert_weights(m, logits);
    const Vector read = m.expert_norm.data ? rms_norm(stream, m.expert_norm) : input;
    Vector sum(made.size());
    for (std::uint32_t e = 0; e < m.n_experts; ++e) {
      if (weights[e] == 0) continue;
      const Vector out = network(m.experts[e], {read})[0];
      for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += weights[e] * out[c];
    }
    if (m.made_norm.data) sum = rms_norm(sum, m.made_norm);
    for (std::size_t c = 0; c < made.size(); ++c) made[c] += sum[c];
  }

  // [n_experts], 0 where the expert is not chosen: one is where fewer than n_used are better.
  static Vector expert_weights(const pc_mixture& m, const Vector& logits) {
    Vector scores(logits.size());
    double total = 0;
    for (const double l : logits) total += std::exp(l);
    for (std::size_t e = 0; e < logits.size(); ++e)
      scores[e] =
          m.routing == PC_ROUTING_SIGMOID ? sigmoid(logits[e]) : std::exp(logits[e]) / total;
    Vector compared = scores;
    for (std::size_t e = 0; e < compared.size() && m.choice_bias.data; ++e)
      compared[e] += TinyModel::at(m.choice_bias, e);
    const auto n_better = [](const Vector& x, std::size_t at) {
      return static_cast<std::uint32_t>(
          std::count_if(x.begin(), x.end(), [&](double v) { return v > x[at]; }));
    };
    const std::size_t each = compared.size() / m.n_groups;
    Vector groups(m.n_groups);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      Vector members(compared.begin() + static_cast<std::ptrdiff_t>(g * each),
                     compared.begin() + static_cast<std::ptrdiff_t>((g + 1) * each));
      std::sort(members.rbegin(), members.rend());
      for (std::uint32_t i = 0; i < m.group_best; ++i) groups[g] += members[i];
    }
    for (std::size_t e = 0; e < compared.size(); ++e)
      if (n_better(groups, e / each) >= m.n_groups_used) compared[e] = -INFINITY;
    Vector weights(scores.size());
    double sum = 0;
    for (std::size_t e = 0; e < scores.size(); ++e)
      if (n_better(compared, e) < m.n_used) sum += weights[e] = scores[e];
    for (std::size_t e = 0; e < weights.size(); ++e)
      weights[e] *= m.scale / (m.normalised ? sum : 1.0) *
                    (m.expert_scales.data ? TinyModel::at(m.expert_scales, e) : 1.0);
    return weights;
  }

  void add(const Vector& branch, Vector& x, double scale = 1) const {
    for (std::size_t c = 0; c < x.size(); ++c) x[c] += d_.residual_scale * scale * branch[c];
  }

  Vector attend(const std::vector<DenseRow>& rows, std::size_t i, const pc_layer& layer,
                const Vector& q, const Kept& kept) const {
    const std::uint32_t group = layer.n_heads / layer.n_kv_heads, hd = layer.head_dim;
    const std::uint32_t window = layer.window;
    const std::size_t vd = kept.v[i].size() / layer.n_kv_heads;
    Vector out(layer.n_heads * vd, 0.0);
    for (std::uint32_t h = 0; h < layer.n_heads; ++h) {
      const std::uint32_t kv = h / group;
      Vector score;
      std::vector<std::uint32_t> seen;
      for (const std::uint32_t j : rows[i].sees) {
        const bool own = rows[j].pass == rows[i].pass;
        const std::int32_t at = own ? rows[j].position : rows[j].placed;
        const Vector& key = own ? kept.k[j] : kept.placed[j];
        if (window != 0 && rows[i].position - at >= static_cast<std::int32_t>(window)) continue;
        double s = 0;
        for (std::uint32_t c = 0; c < hd; ++c) s += q[h * hd + c] * key[kv * hd + c];
        const double passed =
            std::floor(std::max(rows[i].position, 0) / double(d_.growth_positions));
        const double growth =
            d_.query_growth == 0 ? 1.0 : 1.0 + d_.query_growth * std::log1p(passed);
        s = cap(s * layer.attn_scale * growth, d_.attn_softcap);
        if (d_.alibi_slopes) s -= d_.alibi_slopes[h] * (rows[i].position - at);
        score.push_back(s);
        seen.push_back(j);
      }
      double top = -INFINITY, total = 0;
      for (const double s : score) top = std::max(top, s);
      if (layer.sinks.data) total = std::exp(TinyModel::at(layer.sinks, h) - top);
      for (double& s : score) total += s = std::exp(s - top);
      for (std::size_t j = 0; j < seen.size() && received && i >= received->from; ++j)
        received->weights[seen[j]] += (score[j] / total) * (score[j] / total);
      for (std::size_t j = 0; j < seen.size(); ++j)
        for (std::size_t c = 0; c < vd; ++c)
          out[h * vd + c] += score[j] / total * kept.v[seen[j]][kv * vd + c];
    }
    return out;
  }

  const pc_model_desc& d_;
};

}  // namespace pc::test
