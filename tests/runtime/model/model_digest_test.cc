// The digests see every change that could change a state, and nothing else.
#include "runtime/model/model_digest.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <limits>
#include <set>
#include <thread>

#include "simd/types.h"
#include "tests/support/random.h"
#include "tests/support/thread_faults.h"

using namespace pc;
using namespace pc::test;

namespace {

using Bytes = std::vector<std::byte>;

Bytes some_bytes(Random& random, std::size_t n) {
  Bytes bytes(n);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random.below(120));  // finite as f32
  return bytes;
}

TensorView view_of(const Bytes& bytes, const char* dtype, std::vector<std::uint64_t> shape) {
  return {dtype, std::move(shape), bytes, "file"};
}

Digest digest_of(const TensorMap& tensors) {
  return scan_tensors(tensors)->digest;
}

template <class T>
std::vector<std::string> not_finite(const char* dtype, const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  const TensorMap tensors = {{"t", view_of(bytes, dtype, {values.size()})}};
  return scan_tensors(tensors)->not_finite;
}

// So many pieces that every thread of a few has one.
struct Large {
  Bytes bytes = Bytes(std::size_t{64} << 20);
  TensorMap tensors = {{"t", view_of(bytes, "U8", {bytes.size()})}};
};

// A layer is so many tensors, then nine numbers and a word of padding.
constexpr std::size_t kTensors = 27;
constexpr std::size_t kNumbersEnd = kTensors * sizeof(pc_tensor) + 9 * sizeof(std::uint32_t);
static_assert(offsetof(pc_layer, n_heads) == kTensors * sizeof(pc_tensor));
static_assert(offsetof(pc_layer, latent) == kNumbersEnd + sizeof(std::uint32_t));

// A description whose fields can be changed without leaving its memory. The
// digest asks of a tensor only whether it is there.
struct Described {
  static constexpr std::uint32_t kLayers = 2, kHeads = 4, kRopes = 2;
  std::vector<pc_layer> layers;
  std::vector<float> slopes = std::vector<float>(kHeads + 1, 0.5f);
  std::vector<double> inv_freq = {1, 0.5, 0.25, 0.125};
  std::vector<pc_rope> ropes;
  pc_model_desc desc{};

  static pc_tensor tensor(std::uint32_t rows) {
    static const float element = 1;
    return {&element, PC_DTYPE_F32, rows, 8};
  }

  Described() {
    pc_layer layer{};
    for (std::size_t i = 0; i < kTensors; ++i) reinterpret_cast<pc_tensor*>(&layer)[i] = tensor(8);
    layer.n_heads = kHeads;
    layers.assign(kLayers + 1, layer);
    ropes.assign(kRopes, pc_rope{8, 0, 1, inv_freq.data()});
    desc.n_layers = kLayers;
    desc.n_ropes = kRopes;
    desc.embedding = tensor(16);
    desc.lm_head = desc.embedding;
    desc.layers = layers.data();
    desc.ropes = ropes.data();
    desc.alibi_slopes = slopes.data();
  }
  Digest weights() const { return weights_digest(desc, Digest{}); }
};

}  // namespace

TEST_CASE("the scan's digest sees bytes, names, types and shapes") {
  Random random(1);
  // Three pieces, the last one short, beside small tensors.
  Bytes big = some_bytes(random, (std::size_t{17} << 20) + 12), small = some_bytes(random, 24);
  const auto map = [&](const char* name, const char* dtype, std::vector<std::uint64_t> shape) {
    return TensorMap{{"a", view_of(big, "F32", {big.size() / 4})},
                     {name, view_of(small, dtype, std::move(shape))}};
  };
  const TensorMap tensors = map("b", "F32", {2, 3});
  const Digest digest = digest_of(tensors);
  std::set<Digest> seen = {digest};
  const auto is_new = [&](const Digest& d) { return seen.insert(d).second; };
  CHECK(is_new(digest_of(map("c", "F32", {2, 3}))));
  CHECK(is_new(digest_of(map("b", "I32", {2, 3}))));
  CHECK(is_new(digest_of(map("b", "F32", {3, 2}))));
  CHECK(is_new(digest_of(map("b", "F32", {6}))));
  for (const std::size_t at : {std::size_t{0}, std::size_t{8} << 20, (std::size_t{8} << 20) - 1,
                               std::size_t{16} << 20, big.size() - 1}) {
    big[at] ^= std::byte{1};
    CHECK(is_new(digest_of(tensors)));
    big[at] ^= std::byte{1};
  }
  SECTION("and neither where they lie nor in which file") {
    const Bytes elsewhere(small.begin(), small.end());
    TensorMap moved = tensors;
    moved.at("b").bytes = elsewhere;
    moved.at("b").file = "another";
    CHECK(digest_of(moved) == digest);
  }
}

TEST_CASE("the scan names the tensors that are not finite") {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::string> none, one = {"t"};
  CHECK(not_finite("F32", std::vector<float>{0, 1, -std::numeric_limits<float>::max()}) == none);
  CHECK(not_finite("F32", std::vector<float>{0, 1, -inf}) == one);
  CHECK(not_finite("F32", std::vector<float>{nan, 1, 2}) == one);
  CHECK(not_finite("F16", std::vector<std::uint16_t>{0, 0x7bff, 0xfbff}) == none);
  CHECK(not_finite("F16", std::vector<std::uint16_t>{0, 0x7c00}) == one);
  CHECK(not_finite("BF16", std::vector<std::uint16_t>{0, 0xff80}) == one);
  CHECK(not_finite("BF16", std::vector<std::uint16_t>{0x7fc0}) == one);
  CHECK(not_finite("I32", std::vector<std::uint32_t>{0x7f800000}) == none);

  SECTION("also in the last block of a large one, and in order") {
    const simd::TypeShape& q8 = simd::shape_of(simd::Type::kQ8_0);
    Bytes blocks((std::size_t{9} << 20) / q8.bytes * q8.bytes), floats(8);
    const TensorMap tensors = {
        {"z", view_of(blocks, "Q8_0", {blocks.size() / q8.bytes * q8.elements})},
        {"b", view_of(floats, "F32", {2})},
        {"a", view_of(floats, "F16", {4})}};
    CHECK(scan_tensors(tensors)->not_finite == none);
    blocks[blocks.size() - q8.bytes + 1] = std::byte{0x7e};  // the scale is NaN
    CHECK(scan_tensors(tensors)->not_finite == std::vector<std::string>{"z"});
    const float bad = -inf;
    std::memcpy(floats.data() + 4, &bad, 4);  // as f16: zero and -inf
    CHECK(scan_tensors(tensors)->not_finite == std::vector<std::string>{"a", "b", "z"});
  }
}

TEST_CASE("the weights' digest sees every field of a layer") {
  Described d;
  const Digest digest = d.weights();
  CHECK(weights_digest(d.desc, Digest{1}) != digest);
  // Word by word: of tensors all but the address and the padding, and what
  // stands behind the tensors.
  for (std::size_t at = 0; at < kNumbersEnd; at += 4) {
    const std::size_t in_tensor = at % sizeof(pc_tensor);
    const bool counts =
        at >= kTensors * sizeof(pc_tensor)
            ? at != offsetof(pc_layer, states)
            : in_tensor >= offsetof(pc_tensor, dtype) && in_tensor <= offsetof(pc_tensor, cols);
    std::byte* word = reinterpret_cast<std::byte*>(&d.layers[1]) + at;
    INFO("byte " << at);
    word[0] ^= std::byte{1};
    CHECK((d.weights() != digest) == counts);
    word[0] ^= std::byte{1};
  }
  d.layers[0].wq.data = nullptr;
  CHECK(d.weights() != digest);
  // Whose states those are to which it attends says something where it has none.
  d.layers[1].wk.data = nullptr;
  const Digest of_another = d.weights();
  d.layers[1].states = 1;
  CHECK(d.weights() != of_another);
}

TEST_CASE("the weights' digest sees every field of latent attention, where there is one") {
  Described d;
  std::set<Digest> seen = {d.weights()};
  const auto is_new = [&] { return seen.insert(d.weights()).second; };
  pc_latent& latent = d.layers[1].latent;
  std::vector<pc_tensor> up(2 * Described::kHeads + 1);
  latent.k_up = up.data();
  latent.v_up = up.data() + Described::kHeads;
  latent.norm = Described::tensor(4);
  CHECK_FALSE(is_new());
  latent.dims = 8;
  CHECK(is_new());
  latent.norm_eps = 1e-6f;
  CHECK(is_new());
  using L = pc_latent;
  for (const auto field : {&L::norm, &L::q_down, &L::q_norm}) {
    latent.*field = Described::tensor(7);
    CHECK(is_new());
  }
  for (pc_tensor& matrix : up) {
    matrix.rows += 1;
    CHECK(is_new() == (&matrix != &up.back()));  // the last is no head's
  }
}

TEST_CASE("the weights' digest sees every field of a mixture, where there is one") {
  Described d;
  const Digest without = d.weights();
  pc_mixture& m = d.layers[1].mixture;
  m.scale = 2;
  m.router = Described::tensor(4);
  CHECK(d.weights() == without);
  std::vector<pc_ffn> experts(5);
  m.experts = experts.data();
  m.n_experts = 4;
  std::set<Digest> seen = {without, d.weights()};
  REQUIRE(seen.size() == 2);
  const auto is_new = [&] { return seen.insert(d.weights()).second; };
  using M = pc_mixture;
  for (const auto field : {&M::n_experts, &M::n_used, &M::routing, &M::normalised, &M::n_groups,
                           &M::n_groups_used, &M::group_best}) {
    m.*field += 1;
    CHECK(is_new());
    m.*field -= 1;
  }
  m.scale = 3;
  CHECK(is_new());
  m.router_scale = 3;
  CHECK(is_new());
  for (const auto field :
       {&M::router, &M::router_bias, &M::choice_bias, &M::ffn_gate, &M::expert_scales,
        &M::router_norm, &M::expert_norm, &M::made_norm, &M::ffn_made_norm}) {
    m.*field = Described::tensor(7);
    CHECK(is_new());
    (m.*field).rows += 1;
    CHECK(is_new());
  }
  using F = pc_ffn;
  for (const auto field : {&F::gate, &F::up, &F::down, &F::b_gate, &F::b_up, &F::b_down}) {
    (experts[3].*field).cols += 1;
    CHECK(is_new());
  }
  experts[4].up.rows += 1;  // of none
  CHECK_FALSE(is_new());
}

TEST_CASE("the weights' digest sees every field of a description but its ropes") {
  Described d;
  std::set<Digest> seen = {d.weights()};
  const auto is_new = [&] { return seen.insert(d.weights()).second; };
  using D = pc_model_desc;
  for (const auto field : {&D::n_layers, &D::d_model, &D::d_ffn, &D::vocab_size, &D::norm,
                           &D::activation, &D::parallel, &D::n_ropes}) {
    d.desc.*field += 1;
    CHECK(is_new());
    d.desc.*field -= 1;
  }
  for (const auto field :
       {&D::norm_eps, &D::norm_offset, &D::embedding_scale, &D::residual_scale, &D::attn_out_scale,
        &D::recurrent_out_scale, &D::ffn_out_scale, &D::ffn_gate_scale, &D::attn_softcap,
        &D::qkv_clamp, &D::logit_scale, &D::logit_softcap}) {
    const float before = d.desc.*field;
    d.desc.*field += 0.125f;
    CHECK(is_new());
    d.desc.*field = before;
  }
  for (const auto field :
       {&D::embedding, &D::position_embedding, &D::final_norm, &D::final_norm_bias, &D::lm_head}) {
    (d.desc.*field).rows += 1;
    CHECK(is_new());
    (d.desc.*field).rows -= 1;
  }
  d.desc.query_growth = 0.5f;
  CHECK(is_new());
  d.desc.growth_positions += 1;
  CHECK(is_new());
  d.desc.d_ple = 4;
  CHECK(is_new());
  for (const auto field : {&D::ple_embedding, &D::ple_projection, &D::ple_norm}) {
    d.desc.*field = Described::tensor(7);
    CHECK(is_new());
  }
  d.slopes[1] = 0.25f;
  CHECK(is_new());
  d.desc.alibi_slopes = nullptr;
  CHECK(is_new());
  const float another = 1;
  d.desc.lm_head.data = &another;  // no longer tied
  CHECK(is_new());
  d.ropes[0].scale = 2;
  CHECK_FALSE(is_new());
}

TEST_CASE("the rotation's digest sees every field of every rope") {
  Described d;
  std::vector<double> inv_freq = d.inv_freq;
  d.ropes[1].inv_freq = inv_freq.data();
  std::set<Digest> seen = {rope_digest(d.desc)};
  const auto is_new = [&] { return seen.insert(rope_digest(d.desc)).second; };
  inv_freq.back() *= 1 + 1e-15;
  CHECK(is_new());
  d.ropes[1].scale = 1.5f;
  CHECK(is_new());
  d.ropes[1].interleaved = 1;
  CHECK(is_new());
  d.ropes[1].dims = 6;
  CHECK(is_new());
  d.desc.n_ropes = 1;
  CHECK(is_new());
  d.desc.logit_scale = 3;
  CHECK_FALSE(is_new());
}

TEST_CASE("as many threads read as are asked for, and the digest is theirs all the same") {
  const Large large;
  const auto started = [&](std::uint32_t n_threads, Digest* digest) {
    const int before = threads_started();
    *digest = scan_tensors(large.tensors, {.n_threads = n_threads})->digest;
    return threads_started() - before;
  };
  Digest one, three;
  CHECK(started(1, &one) == 0);
  CHECK(started(3, &three) == 2);
  CHECK(one == three);
}

TEST_CASE("threads that cannot be had, or that have no memory, end nothing but the call") {
  const Large large;
  const Digest want = digest_of(large.tensors);
  fail_threads(ThreadFault::kNotStarted);
  const auto alone = scan_tensors(large.tensors, {.n_threads = 4});
  fail_threads(ThreadFault::kNoMemory);
  const auto starved = scan_tensors(large.tensors, {.n_threads = 4});
  fail_threads(ThreadFault::kNone);
  CHECK(alone->digest == want);
  // Where this thread took every piece before another began, nothing was missing.
  if (starved.ok())
    CHECK(starved->digest == want);
  else
    CHECK(starved.error().code == Code::kOutOfMemory);
}

TEST_CASE("progress is told to the caller's thread, from nothing to everything, and may stop it") {
  const Large large;
  const auto caller = std::this_thread::get_id();
  std::vector<std::uint64_t> told;
  const auto listen = [&](std::uint64_t done, std::uint64_t total) {
    CHECK(std::this_thread::get_id() == caller);
    CHECK(total == large.bytes.size());
    told.push_back(done);
    return true;
  };
  REQUIRE(scan_tensors(large.tensors, {.n_threads = 1, .progress = listen}).ok());
  CHECK(told.size() >= 8);  // often enough to be worth looking at
  CHECK(told.front() == 0);
  CHECK(told.back() == large.bytes.size());
  CHECK(std::is_sorted(told.begin(), told.end()));

  for (const std::uint32_t n_threads : {1u, 3u}) {
    for (const std::size_t calls : {1, 2, 3}) {
      std::size_t n = 0;
      const auto stop = [&](std::uint64_t, std::uint64_t) { return ++n < calls; };
      const auto stopped = scan_tensors(large.tensors, {.n_threads = n_threads, .progress = stop});
      CHECK(n <= calls);        // not asked again
      if (n < calls) continue;  // others took the pieces
      REQUIRE_FALSE(stopped.ok());
      CHECK(stopped.error().code == Code::kCancelled);
    }
  }
}
