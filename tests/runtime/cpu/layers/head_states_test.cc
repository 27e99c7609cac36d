// Heads that keep a state equal what defines them, token by token in double precision, however rows
// are cut into sweeps and whoever's rows stand beside them, on every instruction set.
#include "runtime/cpu/layers/head_states.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <deque>
#include <vector>

#include "runtime/backend/layer_parts.h"
#include "tests/support/random.h"

using namespace pc;
using namespace pc::test;

namespace {

constexpr double kEps = 1e-5;  // of the model's norms

// A layer of random shape, and a model that it is all of.
struct Model {
  explicit Model(Random& random) {
    pc_recurrent& r = layer.recurrent;
    r.kind = random.chance(0.5) ? PC_RECURRENCE_GATED_DELTA : PC_RECURRENCE_MAMBA2;
    const bool corrects = r.kind == PC_RECURRENCE_GATED_DELTA;
    d_model = random.between(1, 24);
    r.n_key_heads = random.between(1, 3);
    r.n_heads = r.n_key_heads * random.between(1, 3);
    r.keys_by_turns = random.chance(0.5);
    r.d_k = random.between(1, 20);
    r.d_v = random.between(1, 20);
    r.n_taps = random.between(2, 5);
    const std::uint32_t values = r.n_heads * r.d_v;
    r.n_channels = 2 * r.n_key_heads * r.d_k + values;
    r.norm_dims = random.chance(0.5) ? r.d_v : values;
    r.step_least = 0.01f;
    r.step_most = 2.0f;
    r.gate_scale = corrects ? 1.0f : 0.7f;
    r.in = matrix(random, r.n_channels, d_model);
    r.conv = matrix(random, r.n_taps, r.n_channels);
    if (random.chance(0.5)) r.conv_bias = matrix(random, 1, r.n_channels);
    r.gate = matrix(random, values, d_model);
    r.decay = matrix(random, r.n_heads, d_model);
    if (corrects) r.write = matrix(random, r.n_heads, d_model);
    r.a = matrix(random, 1, r.n_heads);
    for (float& x : numbers.back()) x = -std::exp(3 * x);
    r.step_bias = matrix(random, 1, r.n_heads);
    if (!corrects) r.skip = matrix(random, 1, r.n_heads);
    if (corrects || random.chance(0.5))
      r.norm = matrix(random, 1, random.chance(0.5) ? r.norm_dims : values);
    desc.n_layers = 1;
    desc.d_model = d_model;
    desc.norm_eps = kEps;
    desc.layers = &layer;
  }

  pc_tensor matrix(Random& random, std::uint32_t rows, std::uint32_t cols) {
    numbers.push_back(random.floats(std::size_t{rows} * cols));
    return {numbers.back().data(), PC_DTYPE_F32, rows, cols};
  }

  std::deque<std::vector<float>> numbers;
  std::uint32_t d_model = 0;
  pc_layer layer{};
  pc_model_desc desc{};
};

double at(const pc_tensor& t, std::size_t row, std::size_t col) {
  return vector_of(t)[row * t.cols + col];
}
double silu(double x) {
  return x / (1 + std::exp(-x));
}

std::vector<double> times(const pc_tensor& w, const float* h) {
  std::vector<double> y(w.rows);
  for (std::size_t i = 0; i < w.rows; ++i)
    for (std::size_t c = 0; c < w.cols; ++c) y[i] += at(w, i, c) * h[c];
  return y;
}

// One timeline's tokens, and what comes out.
struct Text {
  Text(Random& random, const Model& model)
      : n(random.between(1, 40)), h(random.floats(std::size_t{n} * model.d_model, 2)) {
    const pc_recurrent& r = model.layer.recurrent;
    std::vector<std::vector<double>> u;
    std::vector<std::vector<double>> states(r.n_heads,
                                            std::vector<double>(std::size_t{r.d_k} * r.d_v));
    for (std::uint32_t i = 0; i < n; ++i) {
      u.push_back(times(r.in, &h[std::size_t{i} * model.d_model]));
      step(model, u, &states);
    }
  }

  void step(const Model& model, const std::vector<std::vector<double>>& u,
            std::vector<std::vector<double>>* states) {
    const pc_recurrent& r = model.layer.recurrent;
    const bool corrects = r.kind == PC_RECURRENCE_GATED_DELTA;
    const std::size_t t = u.size() - 1, keys = std::size_t{r.n_key_heads} * r.d_k;
    const std::size_t values = std::size_t{r.n_heads} * r.d_v;
    const float* const row = &h[t * model.d_model];
    std::vector<double> x(r.n_channels);
    for (std::size_t c = 0; c < r.n_channels; ++c) {
      x[c] = r.conv_bias.data ? at(r.conv_bias, 0, c) : 0;
      for (std::size_t j = 0; j < r.n_taps; ++j)
        if (t + j + 1 >= r.n_taps) x[c] += at(r.conv, j, c) * u[t + j + 1 - r.n_taps][c];
      x[c] = silu(x[c]);
    }
    const double* const q = &x[corrects ? 0 : values + keys];
    const double* const k = &x[corrects ? keys : values];
    const double* const v = &x[corrects ? 2 * keys : 0];
    const auto decays = times(r.decay, row), gates = times(r.gate, row);
    const auto writes = corrects ? times(r.write, row) : std::vector<double>(r.n_heads);
    std::vector<double> z(values);
    for (std::size_t head = 0; head < r.n_heads; ++head) {
      const std::size_t key_head =
          r.keys_by_turns ? head % r.n_key_heads : head * r.n_key_heads / r.n_heads;
      std::vector<double> kh(k + key_head * r.d_k, k + (key_head + 1) * r.d_k);
      std::vector<double> qh(q + key_head * r.d_k, q + (key_head + 1) * r.d_k);
      if (corrects) {
        const auto normed = [&](std::vector<double>& a, double scale) {
          double squares = 1e-6;
          for (const double b : a) squares += b * b;
          for (double& b : a) b *= scale / std::sqrt(squares);
        };
        normed(kh, 1);
        normed(qh, 1 / std::sqrt(double{static_cast<float>(r.d_k)}));
      }
      double dt = std::log1p(std::exp(decays[head] + at(r.step_bias, 0, head)));
      if (!corrects) dt = std::clamp(dt, double{r.step_least}, double{r.step_most});
      const double write = corrects ? 1 / (1 + std::exp(-writes[head])) : dt;
      std::vector<double>& s = (*states)[head];
      for (double& b : s) b *= std::exp(at(r.a, 0, head) * dt);
      for (std::size_t c = 0; c < r.d_v; ++c) {
        double predicted = 0;
        for (std::size_t i = 0; corrects && i < r.d_k; ++i) predicted += s[i * r.d_v + c] * kh[i];
        const double w = write * (v[head * r.d_v + c] - predicted);
        double& read = z[head * r.d_v + c];
        for (std::size_t i = 0; i < r.d_k; ++i) s[i * r.d_v + c] += kh[i] * w;
        for (std::size_t i = 0; i < r.d_k; ++i) read += s[i * r.d_v + c] * qh[i];
        if (!corrects) read += at(r.skip, 0, head) * v[head * r.d_v + c];
      }
    }
    for (std::size_t i = 0; !corrects && i < values; ++i) z[i] *= silu(r.gate_scale * gates[i]);
    for (std::size_t i = 0; r.norm.data && i < values; i += r.norm_dims) {
      double squares = 0;
      for (std::size_t j = 0; j < r.norm_dims; ++j) squares += z[i + j] * z[i + j];
      for (std::size_t j = 0; j < r.norm_dims; ++j)
        z[i + j] *= at(r.norm, 0, r.norm.cols == r.norm_dims ? j : i + j) /
                    std::sqrt(squares / r.norm_dims + kEps);
    }
    for (std::size_t i = 0; corrects && i < values; ++i) z[i] *= silu(gates[i]);
    want.insert(want.end(), z.begin(), z.end());
  }

  std::uint32_t n, n_done = 0;
  std::vector<float> h;      // [n, d_model]
  std::vector<double> want;  // [n, n_heads * d_v]
  std::vector<float> state;
};

// The next rows of each text that has some, as one sweep.
void sweep(Random& random, const Model& model, std::size_t before, HeadStates* heads, Gemm* gemm,
           std::vector<Text>* texts) {
  const pc_recurrent& r = model.layer.recurrent;
  const std::size_t values = std::size_t{r.n_heads} * r.d_v;
  const std::size_t n_numbers = before + state_numbers(model.layer);
  std::vector<float> h;
  std::vector<RecurrentRows> rows;
  std::vector<Text*> whose;
  std::deque<std::vector<float>> after;
  for (Text& text : *texts) {
    const std::uint32_t n = std::min(random.between(0, 19), text.n - text.n_done);
    if (n == 0) continue;
    after.emplace_back(n_numbers, NAN);
    rows.push_back({static_cast<std::uint32_t>(h.size() / model.d_model), n, text.state.data(),
                    after.back().data()});
    const auto first = text.h.begin() + std::ptrdiff_t{text.n_done} * model.d_model;
    h.insert(h.end(), first, first + std::ptrdiff_t{n} * model.d_model);
    whose.push_back(&text);
  }
  if (rows.empty()) return;
  const auto n = static_cast<std::uint32_t>(h.size() / model.d_model);
  h.resize(h.size() + kGemmRowGranule * model.d_model);  // products read whole groups of rows
  std::vector<float> z(n * values, NAN);
  REQUIRE(heads->run({r, 0, before}, {h.data(), n}, rows, gemm, z.data()).ok());
  double off = 0, most = 1;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Text& text = *whose[i];
    for (std::size_t j = 0; j < rows[i].n * values; ++j) {
      const double want = text.want[text.n_done * values + j];
      off = std::max(off, std::fabs(z[rows[i].first * values + j] - want));
      most = std::max(most, std::fabs(want));
    }
    text.n_done += rows[i].n;
    std::copy(after[i].begin() + static_cast<std::ptrdiff_t>(before), after[i].end(),
              text.state.begin() + static_cast<std::ptrdiff_t>(before));
  }
  CHECK(off <= 5e-5 * most);
}

}  // namespace

TEST_CASE("states of heads are what their tokens make of them, in sweeps of any size") {
  Random random(GENERATE(range(1, 60)));
  const Model model(random);
  const std::size_t before = random.below(5), n_numbers = before + state_numbers(model.layer);
  std::vector<Text> texts;
  for (std::uint32_t i = random.between(1, 4); i-- > 0;) texts.emplace_back(random, model);
  for (const simd::Kernels* kernels : simd::supported_kernels()) {
    INFO(kernels->name);
    constexpr std::uint32_t kMostRows = 4 * 20;
    HeadStates heads(model.desc, *kernels, Parallel(2), kMostRows, random.chance(0.2));
    Gemm gemm(*kernels, Parallel(2), kMostRows, model.d_model, nullptr, Precision::kExact);
    for (Text& text : texts) {
      text.state.assign(n_numbers, 0.0f);
      text.n_done = 0;
    }
    while (std::ranges::any_of(texts, [](const Text& t) { return t.n_done < t.n; }))
      sweep(random, model, before, &heads, &gemm, &texts);
  }
}

namespace {

// A layer of which `in`, `decay` and `write` are the rows of h themselves: what tokens read and
// write is given.
struct Given {
  Given(std::uint32_t kind, std::uint32_t d_k, std::uint32_t d_v) {
    pc_recurrent& r = layer.recurrent;
    r.kind = kind;
    r.n_key_heads = r.n_heads = 2;
    r.d_k = d_k, r.d_v = d_v;
    r.n_taps = 2;
    r.n_channels = 2 * r.n_key_heads * d_k + r.n_heads * d_v;
    r.norm_dims = d_v;
    r.step_most = 1e9f;
    const bool corrects = kind == PC_RECURRENCE_GATED_DELTA;
    d_model = r.n_channels + r.n_heads * (d_v + 2);
    r.in = rows(r.n_channels, 0);
    r.gate = rows(r.n_heads * d_v, r.n_channels);
    r.decay = rows(r.n_heads, r.n_channels + r.n_heads * d_v);
    if (corrects) r.write = rows(r.n_heads, r.n_channels + r.n_heads * (d_v + 1));
    // The convolution takes the token alone.
    conv.assign(2 * r.n_channels, 0.0f);
    std::fill(conv.begin() + r.n_channels, conv.end(), 1.0f);
    r.conv = {conv.data(), PC_DTYPE_F32, 2, r.n_channels};
    r.a = {a.data(), PC_DTYPE_F32, 1, 2};
    r.step_bias = {zeros.data(), PC_DTYPE_F32, 1, 2};
    if (!corrects) r.skip = {zeros.data(), PC_DTYPE_F32, 1, 2};
    desc.n_layers = 1;
    desc.d_model = d_model;
    desc.norm_eps = kEps;
    desc.layers = &layer;
  }
  pc_tensor rows(std::uint32_t n, std::uint32_t first) {
    std::vector<float>& w = matrices.emplace_back(std::size_t{n} * d_model);
    for (std::uint32_t i = 0; i < n; ++i) w[std::size_t{i} * d_model + first + i] = 1.0f;
    return {w.data(), PC_DTYPE_F32, n, d_model};
  }

  std::uint32_t d_model;
  std::deque<std::vector<float>> matrices;
  std::vector<float> conv;
  const std::array<float, 2> a = {-1.0f, -0.01f}, zeros = {};
  pc_layer layer{};
  pc_model_desc desc{};
};

// Rows of h for n tokens whose decays' logarithms are of this size.
std::vector<float> draw(Random& random, const Given& given, std::uint32_t n, float log_decay) {
  const pc_recurrent& r = given.layer.recurrent;
  std::vector<float> h = random.floats(std::size_t{n} * given.d_model);
  const std::size_t scalars = r.n_channels + std::size_t{r.n_heads} * r.d_v;
  for (std::uint32_t i = 0; i < n; ++i)
    for (std::uint32_t head = 0; head < r.n_heads; ++head)
      // softplus of it is the step
      h[i * std::size_t{given.d_model} + scalars + head] =
          std::log(std::expm1(log_decay * (0.01f + random.uniform())));
  return h;
}

class Sequence {
 public:
  explicit Sequence(const Given& given, std::uint32_t rows = kRows, bool alike = false)
      : given_(given),
        rows_(rows),
        heads_(given.desc, simd::selected_or_scalar_kernels(), Parallel(2), kRows, alike),
        gemm_(simd::selected_or_scalar_kernels(), Parallel(2), kRows, given.d_model, nullptr,
              Precision::kExact) {}

  // Through all rows of h, from these states; gives those behind them. made: null, or the map.
  std::vector<float> run(const std::vector<float>& h, std::vector<float> state,
                         std::span<const AttachedMap> maps, MadeMap* made) {
    const pc_recurrent& r = given_.layer.recurrent;
    const auto n = static_cast<std::uint32_t>(h.size() / given_.d_model);
    std::vector<float> z(std::size_t{kRows} * r.n_heads * r.d_v), after(state.size());
    for (std::uint32_t first = 0; first < n;) {
      const std::uint32_t rows = std::min(rows_, n - first);
      std::vector<float> part(std::size_t{kRows + kGemmRowGranule} * given_.d_model);
      std::copy_n(h.begin() + std::ptrdiff_t{first} * given_.d_model,
                  std::size_t{rows} * given_.d_model, part.begin());
      RecurrentRows piece{0, rows, state.data(), after.data(),
                          maps.first(first == 0 ? maps.size() : 0)};
      piece.made = made;
      piece.made_first = first;
      REQUIRE(heads_.run({r, 0, 0}, {part.data(), rows}, {&piece, 1}, &gemm_, z.data()).ok());
      if (made) made->commit(rows);
      state.swap(after);
      first += rows;
    }
    return state;
  }

 private:
  static constexpr std::uint32_t kRows = 160;
  const Given& given_;
  const std::uint32_t rows_;  // of a sweep
  HeadStates heads_;
  Gemm gemm_;
};

// The same tokens one after the other, in double precision, from zeros.
std::vector<double> define(const Given& given, const std::vector<std::vector<float>>& texts) {
  const pc_recurrent& r = given.layer.recurrent;
  const bool corrects = r.kind == PC_RECURRENCE_GATED_DELTA;
  const std::size_t keys = std::size_t{r.n_key_heads} * r.d_k,
                    values = r.n_heads * std::size_t{r.d_v};
  std::vector<double> s(r.n_heads * std::size_t{r.d_k} * r.d_v);
  for (const std::vector<float>& h : texts) {
    for (std::size_t at = 0; at < h.size(); at += given.d_model) {
      const float* const row = &h[at];
      for (std::size_t head = 0; head < r.n_heads; ++head) {
        double* const state = &s[head * r.d_k * r.d_v];
        std::vector<double> k(r.d_k), v(r.d_v);
        double squares = 1e-6;
        for (std::size_t i = 0; i < r.d_k; ++i) {
          k[i] = silu(row[(corrects ? keys : values) + head * r.d_k + i]);
          squares += k[i] * k[i];
        }
        for (double& x : k) x /= corrects ? std::sqrt(squares) : 1.0;
        for (std::size_t c = 0; c < r.d_v; ++c)
          v[c] = silu(row[(corrects ? 2 * keys : 0) + head * r.d_v + c]);
        const float* const scalars = row + r.n_channels + values;
        const double step = std::log1p(std::exp(double{scalars[head]}));
        const double write =
            corrects ? 1 / (1 + std::exp(-double{scalars[r.n_heads + head]})) : step;
        // What a decay is rounded to is the layer's, not a map's: of thousands near 1 it adds up.
        const auto decay = static_cast<float>(std::exp(double{given.a[head]} * step));
        for (std::size_t c = 0; c < r.d_v; ++c) {
          double predicted = 0;
          for (std::size_t i = 0; i < r.d_k; ++i) state[i * r.d_v + c] *= decay;
          for (std::size_t i = 0; corrects && i < r.d_k; ++i)
            predicted += state[i * r.d_v + c] * k[i];
          for (std::size_t i = 0; i < r.d_k; ++i)
            state[i * r.d_v + c] += k[i] * write * (v[c] - predicted);
        }
      }
    }
  }
  return s;
}

// How far states are from what defines them, of the largest.
double distance(const Given& given, const std::vector<float>& state,
                const std::vector<double>& want) {
  const pc_recurrent& r = given.layer.recurrent;
  double off = 0, most = 0;
  for (std::uint32_t head = 0; head < r.n_heads; ++head)
    for (std::uint32_t i = 0; i < r.d_k; ++i)
      for (std::uint32_t c = 0; c < r.d_v; ++c) {
        const double x = want[(std::size_t{head} * r.d_k + i) * r.d_v + c];
        const float got = state[kept_inputs(r) + head * simd::state_numbers(r.d_k, r.d_v) +
                                simd::state_number(r.d_k, i, c)];
        off = std::max(off, std::fabs(got - x));
        most = std::max(most, std::fabs(x));
      }
  return off / most;
}

}  // namespace

TEST_CASE(
    "maps of 1 to 64 runs, of 1 to 4096 tokens, behind each other are what their tokens are") {
  Random random(77);
  for (const std::uint32_t kind : {PC_RECURRENCE_GATED_DELTA, PC_RECURRENCE_MAMBA2}) {
    const Given given(kind, 32, 12);
    Sequence sequence(given);
    for (const float log_decay : {1e-5f, 1e-3f, 0.1f, 30.0f}) {
      for (const auto& [n_runs, n_tokens] : {std::pair{1u, 1u},
                                             {1u, 4096u},
                                             {2u, 17u},
                                             {5u, 300u},
                                             {64u, 1u},
                                             {64u, 40u},
                                             {16u, 16u},
                                             {8u, 1000u},
                                             {64u, 4096u}}) {
        if (n_tokens == 4096 && n_runs == 64 && log_decay != 1e-3f) continue;  // seconds

        INFO("kind " << kind << ", " << n_runs << " runs of " << n_tokens << " tokens, decays "
                     << log_decay);
        std::vector<std::vector<float>> texts, numbers;
        const std::vector<float> zeros(state_numbers(given.layer));
        // Each is encoded behind another text, of which the map knows nothing.
        const auto prefix = sequence.run(draw(random, given, 50, 0.1f), zeros, {}, nullptr);
        const StateMapShape shape(given.desc, n_tokens);
        std::vector<AttachedMap> maps;
        for (std::uint32_t i = 0; i < n_runs; ++i) {
          texts.push_back(draw(random, given, n_tokens, log_decay));
          numbers.emplace_back(shape.n_numbers());
          MadeMap made(given.desc, n_tokens, numbers.back().data());
          sequence.run(texts.back(), i % 2 == 0 ? prefix : zeros, {}, &made);
        }
        for (const auto& map : numbers) maps.push_back({map.data(), &shape});
        texts.push_back(draw(random, given, 3, log_decay));
        const auto got = sequence.run(texts.back(), zeros, maps, nullptr);
        CHECK(distance(given, got, define(given, texts)) <= 1e-5);
      }
    }
  }
}

TEST_CASE(
    "where a number does not depend on the others of a sweep, a map does not on how it is cut") {
  Random random(78);
  for (const std::uint32_t kind : {PC_RECURRENCE_GATED_DELTA, PC_RECURRENCE_MAMBA2}) {
    const Given given(kind, 32, 12);
    constexpr std::uint32_t kTokens = 130;
    const StateMapShape shape(given.desc, kTokens);
    const std::vector<float> h = draw(random, given, kTokens, 0.1f);
    std::vector<std::vector<float>> made;
    for (const std::uint32_t rows : {160u, 1u, 7u, 64u}) {
      Sequence sequence(given, rows, true);
      MadeMap map(given.desc, kTokens, made.emplace_back(shape.n_numbers()).data());
      sequence.run(h, std::vector<float>(state_numbers(given.layer)), {}, &map);
      CHECK(made.back() == made.front());
    }
  }
}
