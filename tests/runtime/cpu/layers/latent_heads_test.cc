// Latent attention's ends: queries that meet latents, and what is mixed of latents, are what heads'
// own keys and values give; rows together get what each gets alone.
#include "runtime/cpu/layers/latent_heads.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "tests/support/tiny_model.h"

using namespace pc;
using namespace pc::test;

namespace {

constexpr std::uint32_t kMaxRows = 40;

struct Rig {
  explicit Rig(Random& random) : model(random.next(), shape_of(random)) {}

  static TinyShape shape_of(Random& random) {
    TinyShape shape;
    shape.n_heads = random.between(1, 4);
    shape.make_latent(random);
    return shape;
  }

  TinyModel model;
  const pc_layer& layer = model.desc.layers[0];
  const LatentShape shape = latent_shape(layer);
  const simd::Kernels& kernels = *simd::selected_kernels();
  Parallel parallel = Parallel(2);
  Gemm gemm = Gemm(kernels, parallel, LatentHeads::extents(model.desc, kMaxRows), nullptr,
                   Precision::kExact);
  LatentHeads heads = LatentHeads(model.desc, kernels, parallel, kMaxRows);
};

double entry(const pc_tensor& w, std::size_t row, std::size_t column) {
  return TinyModel::at(w, row * w.cols + column);
}

}  // namespace

TEST_CASE("a query that meets a latent scores what it would with the head's own key") {
  Random random(GENERATE(range(1, 13)));
  Rig rig(random);
  const auto& [latent, rotary, nope, value] = rig.shape;
  const std::uint32_t n = random.between(1, kMaxRows), n_heads = rig.layer.n_heads;
  const std::size_t width = nope + rotary, head_dim = rig.layer.head_dim;
  const auto made = random.floats(n * n_heads * width);
  std::vector<float> q(n * n_heads * head_dim, NAN);
  REQUIRE(rig.heads.absorb(rig.layer, made.data(), n, &rig.gemm, q.data()).ok());
  const auto c = random.floats(latent);
  for (std::size_t at = 0; at < std::size_t{n} * n_heads; ++at) {
    double own = 0, absorbed = 0;
    for (std::size_t i = 0; i < nope; ++i)
      for (std::size_t j = 0; j < latent; ++j)
        own +=
            double{made[at * width + i]} * entry(rig.layer.latent.k_up[at % n_heads], j, i) * c[j];
    for (std::size_t j = 0; j < latent; ++j)
      absorbed += double{q[at * head_dim + rotary + j]} * c[j];
    REQUIRE(absorbed == Approx(own).margin(1e-5));
    for (std::size_t i = 0; i < rotary; ++i)
      REQUIRE(q[at * head_dim + i] == made[at * width + nope + i]);
  }
}

TEST_CASE("what is mixed of latents becomes what is mixed of the head's own values") {
  Random random(GENERATE(range(1, 13)));
  Rig rig(random);
  const auto& [latent, rotary, nope, value] = rig.shape;
  const std::uint32_t n = random.between(1, kMaxRows), n_heads = rig.layer.n_heads;
  const std::size_t head_dim = rig.layer.head_dim;
  const auto mixed = random.floats(n * n_heads * head_dim);
  std::vector<float> together(std::size_t{n} * n_heads * value, NAN), alone(n_heads * value);
  REQUIRE(rig.heads.expand(rig.layer, mixed.data(), n, &rig.gemm, together.data()).ok());
  for (std::size_t at = 0; at < std::size_t{n} * n_heads; ++at)
    for (std::size_t r = 0; r < value; ++r) {
      double sum = 0;
      for (std::size_t j = 0; j < latent; ++j)
        sum += entry(rig.layer.latent.v_up[at % n_heads], r, j) *
               double{mixed[at * head_dim + rotary + j]};
      REQUIRE(together[at * value + r] == Approx(sum).margin(1e-5));
    }
  for (std::uint32_t i = 0; i < n; ++i) {
    REQUIRE(
        rig.heads
            .expand(rig.layer, mixed.data() + i * n_heads * head_dim, 1, &rig.gemm, alone.data())
            .ok());
    for (std::size_t r = 0; r < alone.size(); ++r)
      REQUIRE(alone[r] == Approx(together[i * alone.size() + r]).margin(1e-5));
  }
}

TEST_CASE("a state is the rotated part and the normed latent") {
  Random random(5);
  Rig rig(random);
  const auto& [latent, rotary, nope, value] = rig.shape;
  const auto made = random.floats(rig.layer.head_dim);
  std::vector<float> key = made, values(key.size(), NAN);
  rig.heads.make_state(rig.layer, key.data(), values.data());
  double squares = 0;
  for (std::size_t i = 0; i < latent; ++i) squares += double{made[i]} * made[i];
  const double scale = 1 / std::sqrt(squares / latent + rig.layer.latent.norm_eps);
  for (std::size_t i = 0; i < rotary; ++i) {
    CHECK(key[i] == made[latent + i]);
    CHECK(values[i] == 0);
  }
  for (std::size_t i = 0; i < latent; ++i) {
    CHECK(key[rotary + i] == values[rotary + i]);
    CHECK(key[rotary + i] ==
          Approx(made[i] * scale * TinyModel::at(rig.layer.latent.norm, i)).margin(1e-6));
  }
}

TEST_CASE("a model without latents has none of it") {
  const TinyModel model(1);
  CHECK(LatentHeads::extents(model.desc, kMaxRows).empty());
}
