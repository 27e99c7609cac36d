// The forward pass against the dense oracle: random plans, relocation,
// permuted and split segments, windows, chunks, threads and K/V types.

#include <sys/mman.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>

#include "base/status.h"
#include "tests/support/backend_under_test.h"
#include "tests/support/dense_oracle.h"
#include "tests/support/plan_runner.h"
#include "tests/support/random.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace pc::test {
namespace {

// f32 rounding through a few layers of width 32; the activations are of order one.
constexpr double kF32Tolerance = 1e-4;

void require_plan(PlanRunner& runner, const DenseOracle& oracle, const RawPlan& plan,
                  double tolerance, bool at_once = false, bool gaps = true) {
  std::vector<DenseRow> rows;
  auto last = dense_rows(plan, &rows, gaps);
  if (at_once) last = {last.back()};
  const auto want = oracle.forward(rows, last);
  const auto got = runner.run(plan, at_once);
  REQUIRE(got.size() == last.size());
  for (std::size_t i = 0; i < last.size(); ++i)
    REQUIRE(max_difference(got[i], want[last[i]]) <= tolerance);
}

TEST_CASE("two thousand random plans, over all parts that families have, equal the dense oracle") {
  Random random(11);
  for (int shape_index = 0; shape_index < 40; ++shape_index) {
    TinyShape shape;
    if (shape_index >= 10) {  // any mixture of the families' parts
      shape = random_shape(random);
    } else {  // the Llama shape
      shape.n_heads = 2 * random.between(1, 2);
      shape.n_kv_heads = shape.n_heads / random.between(1, 2);
      shape.head_dim = 4 * random.between(1, 5);
      shape.rope_dims = random.chance(0.3) ? shape.head_dim / 2 : shape.head_dim;
      shape.d_model = 24;
      shape.d_ffn = 20;
      shape.vocab_size = 32;
      shape.biases = random.chance(0.5);
      shape.head_norms = random.chance(0.5);
      shape.window = random.chance(0.4) ? random.between(1, 30) : 0;
    }
    const TinyModel model(100 + static_cast<std::uint64_t>(shape_index), shape);
    const DenseOracle oracle(model.desc);
    PlanRunner runner(backend_under_test(), model.desc, KvType::kF32, shape_index % 2 + 1);
    for (int i = 0; i < (shape_index < 10 ? 100 : 30) / kFewerCases; ++i) {
      INFO("shape " << shape_index << " plan " << i);
      require_plan(runner, oracle, random_plan(random, shape.vocab_size), kF32Tolerance, i % 3 == 0,
                   !model.desc.alibi_slopes);
    }
  }
}

#ifndef PC_TEST_CUDA  // which leaves these models to the CPU
// As a conversation into which later turns bring modules: each is attached when all that stands
// before it is computed. Gives the logits of the last token.
std::vector<float> run_in_order(PlanRunner& runner, const RawPlan& plan) {
  const PlanRunner::Prompt prompt = runner.prompt_of(plan);
  Backend::Timeline timeline = runner.backend().open();
  std::vector<float> logits;
  std::size_t next = 0;
  for (const pc_run& run : prompt.fresh) {
    for (; next < prompt.segments.size() && prompt.segments[next].position < run.position; ++next)
      runner.backend().attach(timeline, prompt.segments[next]);
    logits = runner.backend().compute(timeline, {&run, 1});
  }
  return logits;
}

TEST_CASE("random plans of models whose layers carry states equal the dense oracle") {
  Random random(19);
  for (int shape_index = 0; shape_index < 40; ++shape_index) {
    TinyShape shape = random_shape(random);
    shape.make_recurrent(random);
    const TinyModel model(400 + static_cast<std::uint64_t>(shape_index), shape);
    const DenseOracle oracle(model.desc);
    PlanRunner runner(backend_under_test(), model.desc, KvType::kF32, shape_index % 2 + 1);
    for (int i = 0; i < 20; ++i) {
      INFO("shape " << shape_index << " plan " << i);
      const RawPlan plan = random_plan(random, shape.vocab_size, false);
      require_plan(runner, oracle, plan, kF32Tolerance, i % 3 == 0, !model.desc.alibi_slopes);
      const std::vector<float> at_once = runner.run(plan, true).back();
      REQUIRE(max_difference(run_in_order(runner, plan), {at_once.begin(), at_once.end()}) <=
              kF32Tolerance);
    }
  }
}
#endif

// Which attached token is which row of dense_rows().
std::vector<std::uint32_t> attached_rows(const RawPlan& plan) {
  std::map<std::pair<int, std::uint32_t>, std::uint32_t> firsts;
  std::uint32_t n = 0;
  for (std::size_t j = 0; j < plan.jobs.size(); ++j)
    for (std::uint32_t r = 0; r < plan.jobs[j].runs.size(); ++r) {
      firsts[{static_cast<int>(j), r}] = n;
      n += static_cast<std::uint32_t>(plan.jobs[j].runs[r].tokens.size());
    }
  std::vector<std::uint32_t> rows;
  for (const RawPlanRun& run : plan.prompt) {
    if (run.job < 0) continue;
    const auto& tokens = plan.jobs[static_cast<std::size_t>(run.job)].runs[run.run].tokens;
    for (std::uint32_t t = 0; t < tokens.size(); ++t)
      rows.push_back(firsts.at({run.job, run.run}) + t);
  }
  return rows;
}

TEST_CASE("attention that attached tokens get is what the dense oracle gives them") {
  Random random(18);
  for (int round = 0; round < 60; ++round) {
    INFO("round " << round);
    const TinyShape shape = random_shape(random);
    const TinyModel model(300 + static_cast<std::uint64_t>(round), shape);
    const RawPlan plan = random_plan(random, shape.vocab_size);
    const KvType type = round % 3 == 0   ? KvType::kF32
                        : round % 3 == 1 ? KvType::kBf16
                                         : KvType::kQ8;
    if (type == KvType::kQ8 && shape.head_dim % 4 != 0) continue;
    PlanRunner runner(backend_under_test(), model.desc, type, 2);
    const PlanRunner::Prompt prompt = runner.prompt_of(plan);
    Backend::Timeline timeline = runner.open(prompt);
    const std::vector<std::uint32_t> attached = attached_rows(plan);
    std::vector<std::uint64_t> weights(attached.size());
    pc_step_item item{};
    item.timeline = timeline.get();
    item.runs = prompt.fresh.data();
    item.n_runs = static_cast<std::uint32_t>(prompt.fresh.size());
    item.weights = weights.data();
    runner.backend().step({&item, 1});
    REQUIRE(item.status == 0);

    std::vector<DenseRow> rows;
    dense_rows(plan, &rows);
    Received received;
    for (const RawJob& job : plan.jobs)
      for (const RawRun& run : job.runs)
        received.from += static_cast<std::uint32_t>(run.tokens.size());
    received.weights.resize(rows.size());
    DenseOracle oracle(model.desc);
    oracle.received = &received;
    oracle.forward(rows);
    const double rows_asking = static_cast<double>(rows.size() - received.from);
    // Rounded states and queries move a score, of order one, by some hundredths, and the states of
    // the layers behind by as much.
    const double near = type == KvType::kF32 ? 1e-4 : 0.1;
    const double all = rows_asking * shape.n_layers * shape.n_heads;
    for (std::size_t i = 0; i < attached.size(); ++i) {
      const double want = received.weights[attached[i]];
      const double got = static_cast<double>(weights[i]) / double{PC_WEIGHT_UNIT};
      REQUIRE(std::fabs(got - want) <= near * (want + all / static_cast<double>(rows.size())));
    }
  }
}

TEST_CASE("one module right after its prefix equals the full prefill") {
  Random random(12);
  const TinyModel model(7);
  PlanRunner runner(backend_under_test(), model.desc, KvType::kF32, 0);
  for (int i = 0; i < 20; ++i) {
    const auto prefix = random_tokens(random, random.between(1, 30), 64),
               module = random_tokens(random, random.between(1, 60), 64),
               text = random_tokens(random, random.between(1, 20), 64);
    const auto p = static_cast<std::int32_t>(prefix.size()),
               m = static_cast<std::int32_t>(module.size());
    RawPlan cached;
    cached.jobs = {{{{prefix, 0, true}}}, {{{prefix, 0, false}, {module, p, true}}}};
    cached.prompt = {{0, 0, {}, 0}, {1, 1, {}, p}, {-1, 0, text, p + m}};
    RawPlan full;
    auto all = prefix;
    all.insert(all.end(), module.begin(), module.end());
    all.insert(all.end(), text.begin(), text.end());
    full.prompt = {{-1, 0, all, 0}};
    const auto a = runner.run(cached), b = runner.run(full);
    for (std::size_t v = 0; v < a[0].size(); ++v) REQUIRE(std::fabs(a[0][v] - b[0][v]) <= 5e-5f);
  }
}

#ifndef PC_TEST_CUDA  // a device takes a module as a whole
TEST_CASE("a segment that no token sees is not read") {
  Random random(14);
  TinyShape shape;
  shape.n_layers = 4;
  const TinyModel windowed(9, shape);
  std::vector<pc_layer> layers(windowed.desc.layers, windowed.desc.layers + 4);
  for (pc_layer& layer : layers) layer.window = 12;
  pc_model_desc desc = windowed.desc;
  desc.layers = layers.data();
  PlanRunner runner(backend_under_test(), desc, KvType::kF32, 2);

  // An address that faults: reading one byte of it would end the test.
  const std::size_t page = 1 << 16;
  void* forbidden = mmap(nullptr, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(forbidden != MAP_FAILED);
  pc_kv_segment hidden{};
  hidden.data = forbidden;
  hidden.n_tokens = 20;
  hidden.plane_blocks = 2;
  const auto tokens = random_tokens(random, 30, 64);
  // Rows 0..19 are hidden behind the window of a prompt that starts at 31.
  const auto n = static_cast<std::uint32_t>(tokens.size());
  const std::vector<pc_run> fresh{{tokens.data(), n, 31, 31, 1, nullptr, nullptr, 0, nullptr}};
  const auto with = runner.compute({hidden}, fresh, true);
  const auto without = runner.compute({}, fresh, true);
  REQUIRE(with == without);
  munmap(forbidden, page);
}
#endif

TEST_CASE("one encoding serves a hundred offsets like an encoding made there") {
  Random random(13);
  TinyShape shape;
  shape.window = 40;
  const TinyModel model(8, shape);
  PlanRunner runner(backend_under_test(), model.desc, KvType::kF32, 0);
  const auto module = random_tokens(random, 37, 64), question = random_tokens(random, 9, 64);
  for (int i = 0; i < 100; ++i) {
    const auto offset = static_cast<std::int32_t>(i * 17 % 1000 + i);
    RawPlan moved, there;
    moved.jobs = {{{{module, 0, true}}}};
    there.jobs = {{{{module, offset, true}}}};
    moved.prompt = there.prompt = {{0, 0, {}, offset}, {-1, 0, question, offset + 37}};
    // Encoded at `offset` with keys rotated there: nothing is relocated.
    const auto a = runner.run(moved), b = runner.run(there);
    std::vector<DenseRow> rows;
    const auto last = dense_rows(there, &rows);
    REQUIRE(max_difference(a[0], DenseOracle(model.desc).forward(rows, last)[last[0]]) <=
            kF32Tolerance);
    for (std::size_t v = 0; v < a[0].size(); ++v) REQUIRE(std::fabs(a[0][v] - b[0][v]) <= 5e-5f);
  }
}

TEST_CASE("permuting and splitting segments changes nothing beyond rounding") {
  Random random(14);
  const TinyModel model(9);
  for (const KvType type : {KvType::kF32, KvType::kBf16, KvType::kQ8}) {
    PlanRunner runner(backend_under_test(), model.desc, type, 2);
    std::vector<std::map<std::uint32_t, EncodedRun>> encoded;
    std::vector<pc_kv_segment> segments;
    std::int32_t position = 0;
    for (int i = 0; i < 4; ++i) {
      const auto n = random.between(3, 70);
      encoded.push_back(runner.encode({{{random_tokens(random, n, 64), 0, true}}}));
      const KvSegment& s = encoded.back().at(0).segment;
      segments.push_back(seam_segment(s, position));
      position += static_cast<std::int32_t>(n);
    }
    const auto text = random_tokens(random, 12, 64);
    const std::vector<pc_run> fresh = {
        {text.data(), 12, position, position, 0, nullptr, nullptr, 0, nullptr}};
    const auto want = runner.compute(segments, fresh, true);
    for (int round = 0; round < 30; ++round) {
      std::vector<pc_kv_segment> cut;
      for (const pc_kv_segment& s : segments) {
        const std::uint32_t at = random.between(1, s.n_tokens - 1);
        pc_kv_segment low = s, high = s;
        low.n_tokens = at;
        high.begin = at;  // counted from block 0 of the same planes
        high.n_tokens = s.n_tokens - at;
        high.position += static_cast<std::int32_t>(at);
        high.key_position += static_cast<std::int32_t>(at);
        cut.push_back(low);
        cut.push_back(high);
      }
      for (std::size_t i = cut.size(); i > 1; --i)
        std::swap(cut[i - 1], cut[random.below(static_cast<std::uint32_t>(i))]);
      const auto got = runner.compute(cut, fresh, true);
      // In bf16 the rounding of a fresh key or value may fall the other way:
      // 2^-8 of one element in one row of many. In q8, where bytes are multiplied, a
      // split changes the steps of weights in its block, each within 1/127: two such
      // roundings of one block in several are within those of all states, 1.4 %.
      const float tolerance = type == KvType::kF32 ? 5e-5f : 4e-3f;
      if (type == KvType::kQ8) {
        REQUIRE(relative_error(got[0], want[0]) <= 0.014);
        continue;
      }
      for (std::size_t v = 0; v < got[0].size(); ++v)
        REQUIRE(std::fabs(got[0][v] - want[0][v]) <= tolerance);
    }
  }
}

TEST_CASE("long prompts: chunks, shares and threads change nothing beyond rounding") {
  Random random(15);
  TinyShape shape;
  shape.n_layers = 1;
  const TinyModel model(10, shape);
  RawPlan plan;
  plan.jobs = {{{{random_tokens(random, 700, 64), 0, true}}}};
  plan.prompt = {{0, 0, {}, 0},
                 {-1, 0, random_tokens(random, 600, 64), 700},
                 {-1, 0, random_tokens(random, 1, 64), 1300}};
  std::vector<DenseRow> rows;
  const auto last = dense_rows(plan, &rows);
  const auto want = DenseOracle(model.desc).forward(rows, last);
  for (const std::uint32_t threads : {1u, 2u, 5u}) {
    PlanRunner runner(backend_under_test(), model.desc, KvType::kF32, threads);
    const auto got = runner.run(plan);
    for (std::size_t i = 0; i < last.size(); ++i)
      REQUIRE(max_difference(got[i], want[last[i]]) <= kF32Tolerance);
    PlanRunner q8(backend_under_test(), model.desc, KvType::kQ8, threads);
    const auto rounded = q8.run(plan);
    for (std::size_t i = 0; i < last.size(); ++i) {  // see "q8 states stay near the oracle"
      const std::vector<float> exact(want[last[i]].begin(), want[last[i]].end());
      REQUIRE(relative_error(rounded[i], exact) <= 0.014);
    }
  }
}

TEST_CASE("several runs of one call across the chunks' boundaries, with gaps and windows") {
  Random random(17);
  for (int i = 0; i < 6; ++i) {
    TinyShape shape;
    shape.n_layers = 1 + static_cast<std::uint32_t>(i % 2);
    shape.window = std::vector<std::uint32_t>{0, 300, 17}[static_cast<std::size_t>(i % 3)];
    const TinyModel model(60 + static_cast<std::uint64_t>(i), shape);
    RawPlan plan;
    plan.jobs = {{{{random_tokens(random, random.between(1, 300), 64), 0, i % 2 == 0},
                   {random_tokens(random, random.between(1, 300), 64), 400, true}}}};
    plan.prompt = {{0, 1, {}, 0}};
    for (std::uint32_t t = 0; t < plan.jobs[0].runs[1].tokens.size() && i % 2 == 1; ++t)
      if (random.chance(0.9)) plan.prompt[0].anew.push_back(t);
    auto position = static_cast<std::int32_t>(plan.jobs[0].runs[1].tokens.size());
    for (const std::uint32_t n :
         {256 - static_cast<std::uint32_t>(i % 3), random.between(1, 5), random.between(1, 280)}) {
      position += static_cast<std::int32_t>(random.below(50));
      plan.prompt.push_back({-1, 0, random_tokens(random, n, 64), position});
      position += static_cast<std::int32_t>(n);
    }
    PlanRunner runner(backend_under_test(), model.desc, KvType::kF32, 2);
    require_plan(runner, DenseOracle(model.desc), plan, kF32Tolerance, true);
  }
}

// Relative errors of logits in L2 over random plans: their root mean square, and the largest.
struct Errors {
  double rms = 0.0, worst = 0.0;
};
Errors errors_of(const TinyShape& shape, KvType type) {
  Random random(16);
  const TinyModel model(11, shape);
  const DenseOracle oracle(model.desc);
  PlanRunner runner(backend_under_test(), model.desc, type, 2);
  Errors errors;
  std::size_t n = 0;
  for (int i = 0; i < 40; ++i) {
    const RawPlan plan = random_plan(random, shape.vocab_size, false);
    std::vector<DenseRow> rows;
    const auto last = dense_rows(plan, &rows);
    const auto want = oracle.forward(rows, last);
    const auto got = runner.run(plan);
    for (std::size_t r = 0; r < last.size(); ++r) {
      const std::vector<float> exact(want[last[r]].begin(), want[last[r]].end());
      const double error = relative_error(got[r], exact);
      errors.rms += error * error;
      errors.worst = std::max(errors.worst, error);
      ++n;
    }
  }
  errors.rms = std::sqrt(errors.rms / static_cast<double>(n));
  return errors;
}

TEST_CASE("bf16 states and bf16 weights stay near the oracle") {
  TinyShape shape;
  shape.dtype = PC_DTYPE_BF16;
  // K, V and (where the CPU has it) activations carry 8 bits: 2^-9 a rounding,
  // a handful of independent roundings a layer.
  REQUIRE(errors_of(shape, KvType::kBf16).worst <= 0.02);
}

TEST_CASE("a model that the CPU cannot run is refused") {
  const TinyModel model(12);
  const pc_backend_v1* cpu = backend_under_test();
  pc_backend_error e{};
  pc_backend_model* other = nullptr;
  REQUIRE(cpu->model_open(&model.desc, 7, 0, 1, nullptr, &other, &e) ==
          static_cast<int>(Code::kUnsupported));
  TinyShape odd;
  odd.head_dim = odd.rope_dims = 6;
  const TinyModel sixes(12, odd);
  REQUIRE(cpu->model_open(&sixes.desc, static_cast<std::uint32_t>(KvType::kQ8), 0, 1, nullptr,
                          &other, &e) == static_cast<int>(Code::kUnsupported));
  REQUIRE(std::string(e.message).find("multiple of 4") != std::string::npos);
}

TEST_CASE("q8 states stay near the oracle") {
  // A number of K, V or (where the CPU multiplies bytes) q is off by 1/254 of its row's
  // largest at most and 1/440 on the average, which is half a percent of numbers whose
  // largest is twice their root mean square; weights add as much. Four such roundings
  // in each of two layers make 1.4 %, and a row in thousands four times that.
  for (const std::uint32_t head_dim : {8u, 16u, 20u, 32u}) {
    TinyShape shape;
    shape.head_dim = shape.rope_dims = head_dim;
    const Errors errors = errors_of(shape, KvType::kQ8);
    INFO("head_dim " << head_dim);
    CHECK(errors.rms <= 0.014);
    CHECK(errors.worst <= 0.056);
    CHECK(errors.rms >= 1e-4);  // they are not kept as anything finer
  }
}

}  // namespace
}  // namespace pc::test
