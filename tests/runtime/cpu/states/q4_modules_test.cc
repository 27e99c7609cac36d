// Modules in 4 bits under the forward pass, beside fresh tokens of another type.

#include <catch2/catch.hpp>
#include <cmath>
#include <deque>
#include <vector>

#include "runtime/cpu/states/kv_row.h"
#include "tests/support/backend_under_test.h"
#include "tests/support/plan_runner.h"
#include "tests/support/random.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace pc::test {
namespace {

// Planes of f32 that hold what a module's run of another type does.
struct WidenedRun {
  KvGeometry geometry;
  std::vector<std::byte> memory;
  pc_kv_segment segment;
  WidenedRun(const KvGeometry& stored_as, const pc_kv_segment& from)
      : geometry(stored_as.of_type(KvType::kF32)),
        memory(geometry.state_bytes(kv_blocks(from.n_tokens))) {
    const KvSegment stored{
        {static_cast<const std::byte*>(from.data), &stored_as, from.plane_blocks, from.first_block},
        from.begin,
        from.n_tokens,
        from.position,
        from.key_position};
    const KvPlanes p = dense_planes(memory.data(), geometry, kv_blocks(from.n_tokens));
    repack_rows(stored, from.n_tokens, p);
    segment = {p.data,        p.plane_blocks,    0,       0, from.n_tokens,
               from.position, from.key_position, nullptr, 0};
  }
};

// Of the roundings of q8 (transformer_test.cc), a module's states have none left: queries and
// weights have, and fresh tokens those of bf16.
TEST_CASE("q4 modules are attended as the numbers that they hold, beside fresh tokens in bf16") {
  Random random(19);
  for (const std::uint32_t head_dim : {32u, 64u}) {
    TinyShape shape;
    shape.head_dim = shape.rope_dims = head_dim;
    const TinyModel model(13, shape);
    PlanRunner q4(backend_under_test(), model.desc, KvType::kQ4, 2);
    PlanRunner f32(backend_under_test(), model.desc, KvType::kF32, 2);
    double sum = 0.0;
    const int n = 40;
    for (int i = 0; i < n; ++i) {
      const RawPlan plan = random_plan(random, shape.vocab_size);
      PlanRunner::Prompt prompt = q4.prompt_of(plan);
      Backend::Timeline packed = q4.open(prompt);
      const auto got = q4.compute(packed, prompt.fresh, true);
      std::deque<WidenedRun> runs;
      for (pc_kv_segment& s : prompt.segments)
        s = runs.emplace_back(q4.backend().geometry(), s).segment;
      Backend::Timeline plain = f32.open(prompt);
      const double error =
          relative_error(got.back(), f32.compute(plain, prompt.fresh, true).back());
      INFO("head_dim " << head_dim << ", plan " << i);
      CHECK(error <= 0.016);
      sum += error * error;
    }
    CHECK(std::sqrt(sum / n) <= 0.004);
  }
}

}  // namespace
}  // namespace pc::test
