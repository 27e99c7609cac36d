// Layers that carry states, in double precision over one long list of rows (dense_oracle.h): each
// row goes anew through the rows that it sees, in order of position, each of which has the keys,
// values, decays and writes that it has itself. No maps, no blocks, nothing kept.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "runtime/backend/backend.h"
#include "tests/support/tiny_model.h"

namespace pc::test {

class RecurrentOracle {
 public:
  using Vector = std::vector<double>;
  // product: of a matrix and the layer's input of all rows; {} where there is no matrix.
  template <class Product>
  RecurrentOracle(const pc_recurrent& r, double norm_eps, const Product& product)
      : r_(r),
        norm_eps_(norm_eps),
        made_{product(r.in), product(r.gate), product(r.decay), product(r.write)} {
    if (r.kind != PC_RECURRENCE_CONVOLUTION) return;
    for (const Vector& row : made_.in) {
      inputs_.emplace_back();
      for (std::uint32_t c = 0; c < r.n_channels; ++c)
        inputs_.back().push_back(row[c] * row[2 * r.n_channels + c]);
    }
  }

  // Of all rows of the list (DenseRow): [rows][n_channels] or [n_heads * d_v]
  template <class Row>
  std::vector<Vector> all(const std::vector<Row>& rows) {
    std::vector<Vector> made;
    for (const Row& row : rows) {
      std::vector<std::uint32_t> order = row.sees;
      std::ranges::stable_sort(order, {}, [&](std::uint32_t j) {
        return rows[j].pass == row.pass ? rows[j].position : rows[j].placed;
      });
      made.push_back(this->row(order));
    }
    return made;
  }

 private:
  // What row order.back() makes behind the rows before it in `order`; rows that come before others
  // in the list are known already.
  Vector row(const std::vector<std::uint32_t>& order) {
    const std::uint32_t i = order.back();
    Vector x = convolved(order);
    if (r_.kind == PC_RECURRENCE_CONVOLUTION) {
      for (std::uint32_t c = 0; c < r_.n_channels; ++c) x[c] *= made_.in[i][r_.n_channels + c];
      return x;
    }
    for (double& v : x) v = silu(v);
    read_.resize(std::max<std::size_t>(read_.size(), i + 1));
    read_[i] = x;
    Vector z;
    for (std::uint32_t head = 0; head < r_.n_heads; ++head) {
      const Vector of_head = recur(order, head);
      z.insert(z.end(), of_head.begin(), of_head.end());
    }
    return finished(z, made_.gate[i]);
  }

  static double silu(double x) { return x / (1 + std::exp(-x)); }
  static double at(const pc_tensor& t, std::size_t i) { return TinyModel::at(t, i); }
  bool corrects() const { return r_.kind == PC_RECURRENCE_GATED_DELTA; }

  Vector convolved(const std::vector<std::uint32_t>& order) const {
    const std::vector<Vector>& u = inputs_.empty() ? made_.in : inputs_;
    Vector x(r_.n_channels);
    for (std::uint32_t c = 0; c < r_.n_channels; ++c) {
      if (r_.conv_bias.data) x[c] = at(r_.conv_bias, c);
      for (std::size_t j = 0; j < r_.n_taps && j < order.size(); ++j)
        x[c] += at(r_.conv, (r_.n_taps - 1 - j) * r_.n_channels + c) *
                u[order[order.size() - 1 - j]][c];
    }
    return x;
  }

  // A part of what a row reads, of length 1 and `scale` where the layer norms it.
  Vector part(std::uint32_t row, std::size_t first, std::size_t n, bool norms, double scale) const {
    Vector v(read_[row].begin() + static_cast<std::ptrdiff_t>(first),
             read_[row].begin() + static_cast<std::ptrdiff_t>(first + n));
    double squares = 1e-6;
    for (const double x : v) squares += x * x;
    for (double& x : v) x *= norms ? scale / std::sqrt(squares) : 1;
    return v;
  }

  Vector recur(const std::vector<std::uint32_t>& order, std::uint32_t head) const {
    const std::size_t keys = std::size_t{r_.n_key_heads} * r_.d_k;
    const std::size_t values = std::size_t{r_.n_heads} * r_.d_v;
    const std::size_t key_head =
        r_.keys_by_turns ? head % r_.n_key_heads : head * r_.n_key_heads / r_.n_heads;
    const std::size_t k_at = (corrects() ? keys : values) + key_head * r_.d_k;
    const std::size_t q_at = (corrects() ? 0 : values + keys) + key_head * r_.d_k;
    const std::size_t v_at = (corrects() ? 2 * keys : 0) + head * std::size_t{r_.d_v};
    Vector s(std::size_t{r_.d_k} * r_.d_v), z(r_.d_v);
    for (const std::uint32_t row : order) {
      double step = std::log1p(std::exp(made_.decay[row][head] + at(r_.step_bias, head)));
      if (!corrects()) step = std::clamp(step, double{r_.step_least}, double{r_.step_most});
      const double write = corrects() ? 1 / (1 + std::exp(-made_.write[row][head])) : step;
      const Vector k = part(row, k_at, r_.d_k, corrects(), 1);
      const Vector v = part(row, v_at, r_.d_v, false, 1);
      for (double& x : s) x *= std::exp(at(r_.a, head) * step);
      for (std::size_t c = 0; c < r_.d_v; ++c) {
        double predicted = 0;
        for (std::size_t i = 0; corrects() && i < r_.d_k; ++i)
          predicted += s[i * r_.d_v + c] * k[i];
        for (std::size_t i = 0; i < r_.d_k; ++i)
          s[i * r_.d_v + c] += k[i] * write * (v[c] - predicted);
      }
    }
    const Vector q =
        part(order.back(), q_at, r_.d_k, corrects(), 1 / std::sqrt(static_cast<double>(r_.d_k)));
    const Vector v = part(order.back(), v_at, r_.d_v, false, 1);
    for (std::size_t c = 0; c < r_.d_v; ++c) {
      for (std::size_t i = 0; i < r_.d_k; ++i) z[c] += s[i * r_.d_v + c] * q[i];
      if (r_.skip.data) z[c] += at(r_.skip, head) * v[c];
    }
    return z;
  }

  Vector finished(Vector z, const Vector& gate) const {
    for (std::size_t i = 0; !corrects() && i < z.size(); ++i) z[i] *= silu(r_.gate_scale * gate[i]);
    for (std::size_t i = 0; r_.norm.data && i < z.size(); i += r_.norm_dims) {
      double squares = 0;
      for (std::size_t j = 0; j < r_.norm_dims; ++j) squares += z[i + j] * z[i + j];
      for (std::size_t j = 0; j < r_.norm_dims; ++j)
        z[i + j] *= at(r_.norm, r_.norm.cols == r_.norm_dims ? j : i + j) /
                    std::sqrt(squares / r_.norm_dims + norm_eps_);
    }
    for (std::size_t i = 0; corrects() && i < z.size(); ++i) z[i] *= silu(gate[i]);
    return z;
  }

  const pc_recurrent& r_;
  const double norm_eps_;
  const struct { std::vector<Vector> in, gate, decay, write; } made_;
  std::vector<Vector> inputs_;  // of a gated convolution: b * x
  std::vector<Vector> read_;    // [rows, n_channels] behind the convolution
};

}  // namespace pc::test
