// States that the device computes lie in a module's planes as files pack them: what the CPU reads
// there is what the CPU computes itself, within rounding.

#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/backend/cpu_backend.h"
#include "runtime/cpu/states/kv_row.h"
#include "tests/support/backend_under_test.h"
#include "tests/support/plan_runner.h"
#include "tests/support/random_plan.h"

namespace pc::test {
namespace {

// Keys, then values, of all layers, heads and tokens.
std::vector<float> numbers_of(const EncodedRun& run) {
  const KvGeometry& g = *run.segment.geometry;
  const std::uint32_t n_heads = g.n_kv_heads(0), head_dim = g.head(0).dims;
  std::vector<float> all, row(std::size_t{n_heads} * head_dim);
  for (std::uint32_t layer = 0; layer < g.n_layers(); ++layer) {
    for (std::uint32_t t = 0; t < run.segment.n_tokens; ++t) {
      for (std::uint32_t head = 0; head < n_heads; ++head)
        read_kv_key(run.segment, t, layer, head, row.data() + std::size_t{head} * head_dim);
      all.insert(all.end(), row.begin(), row.end());
      read_kv_values(run.segment, t, layer, row.data());
      all.insert(all.end(), row.begin(), row.end());
    }
  }
  return all;
}

TEST_CASE("states are packed as files have them") {
  Random random(41);
  for (const KvType type : {KvType::kF32, KvType::kBf16, KvType::kQ8}) {
    for (const std::uint32_t head_dim : {4u, 20u, 64u, 100u}) {
      INFO("type " << kv_type_name(type) << " head_dim " << head_dim);
      TinyShape shape;
      shape.n_layers = 1;  // behind further ones, roundings of the first add up
      shape.head_dim = shape.rope_dims = head_dim;
      const TinyModel model(50, shape);
      const auto tokens = random_tokens(random, random.between(1, 150), shape.vocab_size);
      const RawJob job{{{tokens, 0, true}}};
      PlanRunner device(backend_under_test(), model.desc, type, 1);
      // In 8 bits the CPU keeps other numbers (docs/adr/0050-keys-without-outliers.md).
      PlanRunner cpu(cpu_backend(), model.desc, type == KvType::kQ8 ? KvType::kF32 : type, 1);
      const auto got = device.encode(job), want = cpu.encode(job);
      const KvGeometry& geometry = device.backend().geometry();
      const auto a = numbers_of(got.at(0)), b = numbers_of(want.at(0));
      // A number that lies between two steps may go either way: a step of bf16 is 2^-8 of it, one
      // of q8 2/127 of the largest of its row, of numbers about one.
      const float step = type == KvType::kF32 ? 1e-5f : type == KvType::kBf16 ? 0.008f : 0.016f;
      for (std::size_t i = 0; i < a.size(); ++i)
        REQUIRE(std::fabs(a[i] - b[i]) <= step * std::max(1.0f, 4 * std::fabs(b[i])));
      // Nothing lies behind the last token.
      const std::size_t n_rows = tokens.size() % kKvBlockTokens;
      if (n_rows == 0) continue;
      std::vector<std::byte> cleared = got.at(0).bytes;
      const std::uint32_t n_blocks = kv_blocks(got.at(0).segment.n_tokens);
      clear_rows(dense_planes(cleared.data(), geometry, n_blocks).from_block(n_blocks - 1),
                 static_cast<std::uint32_t>(n_rows));
      REQUIRE(cleared == got.at(0).bytes);
    }
  }
}

// Of the same numbers in bf16 the CPU's codec makes the same bytes.
TEST_CASE("states in 4 bits are packed as the CPU packs them, to the bit") {
  Random random(42);
  for (const std::uint32_t head_dim : {16u, 64u, 112u}) {
    for (const std::uint32_t n_tokens : {1u, 7u, 8u, 9u, 16u, 61u}) {
      INFO("head_dim " << head_dim << ", " << n_tokens << " tokens");
      TinyShape shape;
      shape.head_dim = shape.rope_dims = head_dim;
      const TinyModel model(51, shape);
      const auto tokens = random_tokens(random, n_tokens, shape.vocab_size);
      const RawJob job{{{tokens, 0, true}}};
      PlanRunner bf16(backend_under_test(), model.desc, KvType::kBf16, 1);
      PlanRunner q4(backend_under_test(), model.desc, KvType::kQ4, 1);
      const auto wide = bf16.encode(job), got = q4.encode(job);
      const KvGeometry& geometry = q4.backend().geometry();
      std::vector<std::byte> want(geometry.state_bytes(kv_blocks(n_tokens)));
      repack_rows(wide.at(0).segment, n_tokens,
                  dense_planes(want.data(), geometry, kv_blocks(n_tokens)));
      REQUIRE(got.at(0).bytes == want);
    }
  }
}

}  // namespace
}  // namespace pc::test
