// The independent oracle: a dense forward pass in double precision over one
// long list of rows, each with explicit positions and an explicit list of the
// rows it sees. No segments, no caches, no rotation of queries by offsets:
// what any plan must equal (DESIGN 6, oracle 2).
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "runtime/backend.h"
#include "tests/support/tiny_model.h"

namespace pc::test {

struct DenseRow {
  std::int32_t token = 0;
  std::uint32_t pass = 0;           // rows of one pass see each other at `position`
  std::int32_t position = 0;        // in its own pass
  std::int32_t placed = 0;          // as rows of another pass see it
  std::vector<std::uint32_t> sees;  // rows, itself included; windows are applied on top
};

class DenseOracle {
 public:
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
      for (std::uint32_t c = 0; c < d_.d_model; ++c)
        x[i][c] =
            TinyModel::at(d_.embedding, static_cast<std::size_t>(rows[i].token) * d_.d_model + c);
    }
    for (std::uint32_t l = 0; l < d_.n_layers; ++l) layer(rows, d_.layers[l], x);
    std::vector<std::vector<double>> logits(n);
    for (const std::uint32_t i : wanted)
      logits[i] = multiply(d_.lm_head, {}, norm(x[i], d_.final_norm));
    return logits;
  }

 private:
  using Vector = std::vector<double>;

  Vector norm(const Vector& x, const pc_tensor& w) const {
    double sum = 0;
    for (const double v : x) sum += v * v;
    const double scale = 1.0 / std::sqrt(sum / static_cast<double>(x.size()) + d_.norm_eps);
    Vector y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] * scale * TinyModel::at(w, i);
    return y;
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
  void rotate(Vector& x, std::uint32_t n_heads, const pc_tensor& head_norm,
              std::int32_t position) const {
    for (std::uint32_t h = 0; h < n_heads; ++h) {
      Vector head(x.begin() + h * d_.head_dim, x.begin() + (h + 1) * d_.head_dim);
      if (head_norm.data) head = norm(head, head_norm);
      const std::uint32_t half = d_.rope_dims / 2;
      for (std::uint32_t i = 0; i < half; ++i) {
        const double angle = position * d_.inv_freq[i];
        const double a = head[i], b = head[i + half];
        head[i] = (a * std::cos(angle) - b * std::sin(angle)) * d_.rope_scale;
        head[i + half] = (b * std::cos(angle) + a * std::sin(angle)) * d_.rope_scale;
      }
      std::copy(head.begin(), head.end(), x.begin() + h * d_.head_dim);
    }
  }

  void layer(const std::vector<DenseRow>& rows, const pc_layer& w, std::vector<Vector>& x) const {
    const std::size_t n = rows.size();
    std::vector<Vector> q(n), k(n), placed(n), v(n);
    for (std::size_t i = 0; i < n; ++i) {
      const Vector h = norm(x[i], w.attn_norm);
      q[i] = multiply(w.wq, w.bq, h);
      k[i] = multiply(w.wk, w.bk, h);
      v[i] = multiply(w.wv, w.bv, h);
      placed[i] = k[i];
      rotate(q[i], d_.n_heads, w.q_norm, rows[i].position);
      rotate(k[i], d_.n_kv_heads, w.k_norm, rows[i].position);
      rotate(placed[i], d_.n_kv_heads, w.k_norm, rows[i].placed);
    }
    for (std::size_t i = 0; i < n; ++i) {
      const Vector mixed = attend(rows, i, w.window, q[i], k, placed, v);
      const Vector o = multiply(w.wo, w.bo, mixed);
      for (std::size_t c = 0; c < o.size(); ++c) x[i][c] += o[c];
    }
    for (std::size_t i = 0; i < n; ++i) {
      const Vector h = norm(x[i], w.ffn_norm);
      Vector gate = multiply(w.w_gate, w.b_gate, h);
      const Vector up = multiply(w.w_up, w.b_up, h);
      for (std::size_t c = 0; c < gate.size(); ++c)
        gate[c] = gate[c] / (1.0 + std::exp(-gate[c])) * up[c];
      const Vector o = multiply(w.w_down, w.b_down, gate);
      for (std::size_t c = 0; c < o.size(); ++c) x[i][c] += o[c];
    }
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
        score.push_back(s * d_.attn_scale);
        seen.push_back(j);
      }
      double top = -INFINITY, total = 0;
      for (const double s : score) top = std::max(top, s);
      for (double& s : score) total += s = std::exp(s - top);
      for (std::size_t j = 0; j < seen.size(); ++j)
        for (std::uint32_t c = 0; c < hd; ++c)
          out[h * hd + c] += score[j] / total * v[seen[j]][kv * hd + c];
    }
    return out;
  }

  const pc_model_desc& d_;
};

}  // namespace pc::test
