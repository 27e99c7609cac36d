// A key without its centre, and what is put back, make the score of the whole key; spread vectors
// have the products of the vectors.

#include "runtime/cpu/states/key_centres.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/cpu/states/spread.h"
#include "tests/support/random.h"

namespace pc {
namespace {

using test::Random;

double dot(const float* a, const float* b, std::size_t n) {
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

double length(const std::vector<float>& x) {
  return std::sqrt(dot(x.data(), x.data(), x.size()));
}

// A model of one layer and two kv heads whose keys have a bias.
struct Biased {
  std::vector<double> inv_freq;
  pc_rope rope{};
  std::vector<float> bias;
  pc_layer layer{};
  pc_model_desc desc{};

  Biased(Random& random, std::uint32_t head_dim, std::uint32_t rope_dims, bool interleaved)
      : bias(random.floats(2 * head_dim, 100.0f)) {
    for (std::uint32_t i = 0; i < rope_dims / 2; ++i)
      inv_freq.push_back(std::pow(1e4, -2.0 * i / rope_dims));
    rope = {rope_dims, interleaved, 1.25f, inv_freq.data()};
    layer.bk.data = bias.data();
    desc.n_layers = 1;
    layer.wk.data = bias.data();  // it has keys
    layer.n_heads = layer.n_kv_heads = 2;
    layer.head_dim = head_dim;
    desc.n_ropes = 1;
    desc.ropes = &rope;
    desc.layers = &layer;
  }

  // The bias of a head as a key at a position has it.
  std::vector<float> rotated(std::uint32_t head, double position) const {
    const std::uint32_t half = rope.dims / 2;
    const float* const b = bias.data() + std::size_t{head} * layer.head_dim;
    std::vector<float> key(b, b + layer.head_dim);
    for (std::uint32_t i = 0; i < half; ++i) {
      const double x = b[rope.interleaved ? 2 * i : i],
                   y = b[rope.interleaved ? 2 * i + 1 : i + half];
      const double c = std::cos(position * inv_freq[i]), s = std::sin(position * inv_freq[i]);
      key[i] = static_cast<float>(rope.scale * (x * c - y * s));
      key[i + half] = static_cast<float>(rope.scale * (y * c + x * s));
    }
    return key;
  }
};

TEST_CASE("what a key loses is the bias at its block's centre, and the score gets it back") {
  Random random(50);
  for (const bool interleaved : {false, true})
    for (const std::uint32_t rope_dims : {16u, 24u}) {
      const Biased model(random, 24, rope_dims, interleaved);
      KeyCentres centres(model.desc);
      REQUIRE(centres.has(0));
      for (const std::uint32_t column : {0u, 3u, 700u}) {  // each time more than was reached
        centres.reach(column + 1);
        const std::uint32_t head = column % 2;
        const std::vector<float> bias = model.rotated(head, 16.0 * column), q = random.floats(24);
        std::vector<float> key = bias, sway(24);
        centres.subtract(0, head, column, key.data());
        CHECK(length(key) <= 1e-6 * length(bias));
        centres.sway(0, head, q.data(), sway.data());
        double back = 0.0;
        for (std::size_t d = 0; d < 24; ++d)
          back += static_cast<double>(sway[d]) * centres.waves(0, column)[d * centres.stride()];
        CHECK(std::fabs(back - dot(q.data(), bias.data(), 24)) <= 1e-6 * length(bias) * length(q));
      }
    }
}

TEST_CASE("a block's centre is the first multiple of 16 in it, and none is before the first") {
  CHECK(first_centre(-40) == 0);
  CHECK(first_centre(0) == 0);
  CHECK(first_centre(1) == 1);
  CHECK(first_centre(16) == 1);
  CHECK(first_centre(17) == 2);
}

TEST_CASE("keys that are normed, or not rotated, or have no bias, keep what they have") {
  Random random(51);
  Biased normed(random, 16, 16, false), still(random, 16, 16, false), plain(random, 16, 16, false);
  normed.layer.k_norm.data = normed.bias.data();
  still.layer.rope = PC_NO_ROPE;
  plain.layer.bk.data = nullptr;
  for (const Biased* model : {&normed, &still, &plain}) {
    KeyCentres centres(model->desc);
    CHECK_FALSE(centres.any());
    centres.reach(100);
    CHECK(centres.stride() == 0);
  }
}

TEST_CASE("spread vectors keep their products, come back, and have no outlier left") {
  Random random(52);
  for (const std::size_t n : {4u, 12u, 32u, 64u, 72u, 80u, 256u})
    for (const auto spread : {spread_key, spread_value}) {
      INFO(n);
      const std::vector<float> a = random.floats(n), b = random.floats(n);
      std::vector<float> x = a, y = b;
      spread(x.data(), n);
      spread(y.data(), n);
      const double rounding = 1e-6 * length(a) * length(b);
      CHECK(std::fabs(dot(x.data(), y.data(), n) - dot(a.data(), b.data(), n)) <= rounding);
      spread(x.data(), n);
      for (std::size_t i = 0; i < n; ++i) CHECK(std::fabs(x[i] - a[i]) <= 1e-6 * length(a));
    }
  std::vector<float> outlier(64, 0.0f);
  outlier[5] = 100.0f;
  spread_key(outlier.data(), 64);
  const auto largest = [](float a, float b) { return std::fabs(a) < std::fabs(b); };
  CHECK(std::fabs(*std::max_element(outlier.begin(), outlier.end(), largest)) <=
        100.0f / std::sqrt(32.0f) * 1.0001f);
}

}  // namespace
}  // namespace pc
