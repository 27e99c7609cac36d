// The independent oracle: a dense forward pass in double precision over one
// long list of rows, each with explicit positions and an explicit list of the
// rows it sees. No segments, no caches, no rotation of queries by offsets:
// what any plan must equal (DESIGN 6, oracle 2).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "runtime/backend/backend.h"
#include "tests/support/tiny_model.h"

namespace pc::test {

struct DenseRow {
  std::int32_t token = 0;
  std::uint32_t pass = 0;           // rows of one pass see each other at `position`
  std::int32_t position = 0;        // in its own pass
  std::int32_t placed = 0;          // as rows of another pass see it
  std::vector<std::uint32_t> sees;  // rows, itself included; windows are applied on top
};

// How much attention each row got from the rows [from, end), over all layers and heads.
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
      x[i].resize(d_.d_model);
      for (std::uint32_t c = 0; c < d_.d_model; ++c) {
        const auto cell = [&](const pc_tensor& table, std::int32_t row) {
          return TinyModel::at(table, static_cast<std::size_t>(row) * d_.d_model + c);
        };
        x[i][c] = d_.embedding_scale * cell(d_.embedding, rows[i].token);
        if (d_.position_embedding.data) x[i][c] += cell(d_.position_embedding, rows[i].position);
      }
    }
    for (std::uint32_t l = 0; l < d_.n_layers; ++l) layer(rows, d_.layers[l], x);
    std::vector<std::vector<double>> logits(n);
    for (const std::uint32_t i : wanted) {
      logits[i] = multiply(d_.lm_head, {}, norm(x[i], d_.final_norm, d_.final_norm_bias));
      for (double& v : logits[i]) v = cap(d_.logit_scale * v, d_.logit_softcap);
    }
    return logits;
  }

 private:
  using Vector = std::vector<double>;

  static double cap(double x, double limit) {
    return limit == 0 ? x : limit * std::tanh(x / limit);
  }

  Vector rms_norm(const Vector& x, const pc_tensor& w) const {
    double sum = 0;
    for (const double v : x) sum += v * v;
    const double scale = 1.0 / std::sqrt(sum / static_cast<double>(x.size()) + d_.norm_eps);
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
    return x / (1 + std::exp(-x));
  }

  static Vector multiply(const pc_tensor& w, const pc_tensor& bias, const Vector& x) {
    std::vector<float> row(w.cols);
    Vector y(w.rows);
    for (std::uint32_t r = 0; r < w.rows; ++r) {
      y[r] = bias.data ? TinyModel::at(bias, r) : 0.0;
      const std::size_t bytes = std::size_t{r} * w.cols * (w.dtype == PC_DTYPE_F32 ? 4 : 2);
      simd::kScalarKernels.to_f32(static_cast<const std::byte*>(w.data) + bytes,
                                  static_cast<simd::Type>(w.dtype), w.cols, row.data());
      for (std::uint32_t c = 0; c < w.cols; ++c) y[r] += static_cast<double>(row[c]) * x[c];
    }
    return y;
  }

  // Heads of `x`, normed where the model does and rotated to `position`.
  void rotate(Vector& x, std::uint32_t n_heads, const pc_tensor& head_norm, std::uint32_t rope,
              std::int32_t position) const {
    if (d_.qkv_clamp != 0)
      for (double& v : x) v = std::min<double>(std::max<double>(v, -d_.qkv_clamp), d_.qkv_clamp);
    if (head_norm.data && head_norm.cols == x.size()) x = rms_norm(x, head_norm);
    for (std::uint32_t h = 0; h < n_heads; ++h) {
      Vector head(x.begin() + h * d_.head_dim, x.begin() + (h + 1) * d_.head_dim);
      if (head_norm.data && head_norm.cols != x.size()) head = rms_norm(head, head_norm);
      if (rope != PC_NO_ROPE) rotate_head(head, d_.ropes[rope], position);
      std::copy(head.begin(), head.end(), x.begin() + h * d_.head_dim);
    }
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

  void layer(const std::vector<DenseRow>& rows, const pc_layer& w, std::vector<Vector>& x) const {
    const std::size_t n = rows.size();
    const std::vector<Vector> before = x;
    std::vector<Vector> q(n), k(n), placed(n), v(n);
    for (std::size_t i = 0; i < n; ++i) {
      const Vector h = norm(x[i], w.attn_norm, w.attn_norm_bias);
      q[i] = multiply(w.wq, w.bq, h);
      k[i] = multiply(w.wk, w.bk, h);
      v[i] = multiply(w.wv, w.bv, h);
      if (d_.qkv_clamp != 0) rotate(v[i], 0, {}, PC_NO_ROPE, 0);
      placed[i] = k[i];
      rotate(q[i], d_.n_heads, w.q_norm, w.rope, rows[i].position);
      rotate(k[i], d_.n_kv_heads, w.k_norm, w.rope, rows[i].position);
      rotate(placed[i], d_.n_kv_heads, w.k_norm, w.rope, rows[i].placed);
    }
    for (std::size_t i = 0; i < n; ++i) {
      const Vector mixed = attend(rows, i, w.window, q[i], k, placed, v);
      add(norm(multiply(w.wo, w.bo, mixed), w.attn_post_norm, {}), x[i]);
    }
    for (std::size_t i = 0; i < n; ++i) {
      const bool shared = d_.parallel && !w.ffn_norm.data;
      const Vector& input = d_.parallel ? before[i] : x[i];
      const Vector h = shared ? norm(input, w.attn_norm, w.attn_norm_bias)
                              : norm(input, w.ffn_norm, w.ffn_norm_bias);
      Vector inner = multiply(w.w_up, w.b_up, h);
      const Vector gate = w.w_gate.data ? multiply(w.w_gate, w.b_gate, h) : Vector();
      for (std::size_t c = 0; c < inner.size(); ++c)
        inner[c] = gate.empty() ? activate(inner[c]) : activate(gate[c]) * inner[c];
      add(norm(multiply(w.w_down, w.b_down, inner), w.ffn_post_norm, {}), x[i]);
    }
  }

  void add(const Vector& branch, Vector& x) const {
    for (std::size_t c = 0; c < x.size(); ++c) x[c] += d_.residual_scale * branch[c];
  }

  Vector attend(const std::vector<DenseRow>& rows, std::size_t i, std::uint32_t window,
                const Vector& q, const std::vector<Vector>& k, const std::vector<Vector>& placed,
                const std::vector<Vector>& v) const {
    const std::uint32_t group = d_.n_heads / d_.n_kv_heads, hd = d_.head_dim;
    Vector out(std::size_t{d_.n_heads} * hd, 0.0);
    for (std::uint32_t h = 0; h < d_.n_heads; ++h) {
      const std::uint32_t kv = h / group;
      Vector score;
      std::vector<std::uint32_t> seen;
      for (const std::uint32_t j : rows[i].sees) {
        const bool own = rows[j].pass == rows[i].pass;
        const std::int32_t at = own ? rows[j].position : rows[j].placed;
        const Vector& key = own ? k[j] : placed[j];
        if (window != 0 && rows[i].position - at >= static_cast<std::int32_t>(window)) continue;
        double s = 0;
        for (std::uint32_t c = 0; c < hd; ++c) s += q[h * hd + c] * key[kv * hd + c];
        s = cap(s * d_.attn_scale, d_.attn_softcap);
        if (d_.alibi_slopes) s -= d_.alibi_slopes[h] * (rows[i].position - at);
        score.push_back(s);
        seen.push_back(j);
      }
      double top = -INFINITY, total = 0;
      for (const double s : score) top = std::max(top, s);
      for (double& s : score) total += s = std::exp(s - top);
      for (std::size_t j = 0; j < seen.size() && received && i >= received->from; ++j)
        received->weights[seen[j]] += score[j] / total;
      for (std::size_t j = 0; j < seen.size(); ++j)
        for (std::uint32_t c = 0; c < hd; ++c)
          out[h * hd + c] += score[j] / total * v[seen[j]][kv * hd + c];
    }
    return out;
  }

  const pc_model_desc& d_;
};

}  // namespace pc::test
