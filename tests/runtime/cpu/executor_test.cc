// Many timelines a step: what each computes does not depend on the others' being there, forks
// and rewound timelines go on as new ones would, and an item fails alone.

// What runtime/cpu/executor.h promises, and other backends as well.

#include <catch2/catch.hpp>

#include "tests/support/backend_under_test.h"
#include "tests/support/dense_oracle.h"
#include "tests/support/plan_runner.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace pc::test {
namespace {

constexpr float kRounding = 5e-5f;  // of logits of order one, in another order of sums

void require_near(const std::vector<float>& got, const std::vector<float>& want,
                  float tolerance = kRounding) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) REQUIRE(std::fabs(got[i] - want[i]) <= tolerance);
}

// One item a timeline, with logits of its own.
class Step {
 public:
  explicit Step(Backend& backend) : backend_(backend) {}

  void add(const Backend::Timeline& timeline, std::span<const pc_run> runs,
           const std::int32_t* cancel = nullptr) {
    logits.emplace_back(backend_.vocab());
    pc_step_item item{};
    item.timeline = timeline.get();
    item.runs = runs.data();
    item.n_runs = static_cast<std::uint32_t>(runs.size());
    item.logits = logits.back().data();
    item.cancel = cancel;
    items.push_back(item);
  }
  void run() { backend_.step(items); }

  std::vector<pc_step_item> items;
  std::deque<std::vector<float>> logits;

 private:
  Backend& backend_;
};

TEST_CASE("random prompts computed together equal each alone, and the dense oracle") {
  constexpr int kRounds = 60 / kFewerCases;
  Random random(21);
  for (int round = 0; round < kRounds; ++round) {
    INFO("round " << round);
    TinyShape shape = random_shape(random);
    bool anew = true;
#ifndef PC_TEST_CUDA
    if (round % 3 == 2) {  // layers that carry states, which know no part of a module
      shape.make_recurrent(random);
      anew = false;
    }
#endif
    const TinyModel model(500 + static_cast<std::uint64_t>(round), shape);
    const DenseOracle oracle(model.desc);
    PlanRunner runner(backend_under_test(), model.desc, KvType::kF32, random.between(1, 3));
    std::vector<RawPlan> plans;
    std::vector<std::vector<float>> want;
    for (std::uint32_t i = random.between(2, 7); i-- > 0;) {
      plans.push_back(random_plan(random, shape.vocab_size, anew));
      std::vector<DenseRow> rows;
      const auto last = dense_rows(plans.back(), &rows);
      const auto exact = oracle.forward(rows, {last.back()})[last.back()];
      want.emplace_back(exact.begin(), exact.end());
    }
    std::vector<PlanRunner::Prompt> prompts;
    for (const RawPlan& plan : plans) prompts.push_back(runner.prompt_of(plan));
    std::deque<Backend::Timeline> timelines;
    Step step(runner.backend());
    for (const auto& prompt : prompts) {
      timelines.push_back(runner.open(prompt));
      step.add(timelines.back(), prompt.fresh);
    }
    step.run();
    for (std::size_t i = 0; i < plans.size(); ++i) {
      REQUIRE(step.items[i].status == 0);
      require_near(step.logits[i], want[i], 1e-4f);
      Backend::Timeline alone = runner.open(prompts[i]);
      require_near(step.logits[i], runner.compute(alone, prompts[i].fresh, true).back());
    }
  }
}

// As a server's requests: any of the same modules, in any order and at few different places.
TEST_CASE("timelines that share modules in any order decode together as alone") {
  Random random(22);
  for (int round = 0; round < (kFewerCases == 1 ? 9 : 3); ++round) {
    const KvType type = KvType{1 + static_cast<std::uint32_t>(round % 3)};
    TinyShape shape;
    shape.window = round % 2 == 1 ? 350 : 0;
    shape.head_dim = shape.rope_dims = 8;
    const TinyModel model(31, shape);
    PlanRunner runner(backend_under_test(), model.desc, type, 2);
    Backend& backend = runner.backend();
    std::vector<std::map<std::uint32_t, EncodedRun>> modules;
    for (const std::uint32_t n : {300u, 17u, 64u, 100u, 20u})
      modules.push_back(runner.encode({{{random_tokens(random, n, shape.vocab_size), 0, true}}}));
    constexpr std::uint32_t kTimelines = 37;  // more than a tile of rows
    std::deque<Backend::Timeline> together, alone;
    std::vector<std::int32_t> positions;
    for (std::uint32_t t = 0; t < kTimelines; ++t) {
      together.push_back(backend.open());
      alone.push_back(backend.open());
      for (std::uint32_t i = random.below(7); i-- > 0;) {
        const KvSegment& s = modules[random.below(5)].at(0).segment;
        const pc_kv_segment segment =
            seam_segment(s, 20 * static_cast<std::int32_t>(random.below(2)));
        backend.attach(together.back(), segment);
        backend.attach(alone.back(), segment);
      }
      positions.push_back(static_cast<std::int32_t>(random.between(320, 340)));
    }
    for (int token = 0; token < 5; ++token) {
      const auto ids = random_tokens(random, kTimelines, shape.vocab_size);
      std::deque<pc_run> runs;
      Step step(backend);
      for (std::uint32_t t = 0; t < kTimelines; ++t) {
        const std::int32_t p = positions[t] + token;
        runs.push_back({&ids[t], 1, p, p, 1, nullptr, nullptr, 0, nullptr});
        step.add(together[t], {&runs[t], 1});
      }
      step.run();
      for (std::uint32_t t = 0; t < kTimelines; ++t) {
        REQUIRE(step.items[t].status == 0);
        const auto want = backend.compute(alone[t], {&runs[t], 1});
        // bf16 and q8: a fresh number may be rounded the other way (transformer_test.cc).
        require_near(step.logits[t], want,
                     type == KvType::kF32    ? kRounding
                     : type == KvType::kBf16 ? 4e-3f
                                             : 2e-2f);
      }
    }
  }
}

#ifndef PC_TEST_CUDA  // whose models have no layers without states
TEST_CASE("layers behind the last that has states are computed for those who read what they make") {
  Random random(25);
  TinyShape shape;
  shape.n_layers = 5;
  shape.n_shared = 3;
  const TinyModel model(34, shape);
  Backend backend(backend_under_test(), model.desc, KvType::kF32, 2);
  const auto tokens = random_tokens(random, 60, 64);
  const pc_run head{tokens.data(), 50, 0, 0, 1, nullptr, nullptr, 0, nullptr},
      tail{&tokens[50], 10, 50, 50, 1, nullptr, nullptr, 0, nullptr},
      all{tokens.data(), 60, 0, 0, 1, nullptr, nullptr, 0, nullptr};
  const auto unread = [&](Backend& by, const Backend::Timeline& timeline) {
    Step step(by);
    step.add(timeline, {&head, 1});
    step.items[0].logits = nullptr;
    step.run();
    return step.items[0].status;
  };
  const Backend::Timeline timeline = backend.open();
  REQUIRE(unread(backend, timeline) == 0);
  require_near(backend.compute(timeline, {&tail, 1}), backend.compute(backend.open(), {&all, 1}));

  // Beside one that is read.
  Step both(backend);
  const Backend::Timeline read = backend.open(), not_read = backend.open();
  both.add(not_read, {&head, 1});
  both.items[0].logits = nullptr;
  both.add(read, {&all, 1});
  both.run();
  for (const pc_step_item& item : both.items) REQUIRE(item.status == 0);
  const auto want = backend.compute(backend.open(), {&all, 1});
  require_near(both.logits[1], want);
  require_near(backend.compute(not_read, {&tail, 1}), want);

  // A layer that cannot be computed is not missed.
  std::vector<pc_layer> layers(model.desc.layers, model.desc.layers + 5);
  const std::vector<float> broken(layers[3].attn_norm.cols, NAN);
  layers[3].attn_norm.data = broken.data();
  pc_model_desc desc = model.desc;
  desc.layers = layers.data();
  Backend without(backend_under_test(), desc, KvType::kF32, 2);
  const Backend::Timeline of_states = without.open();
  CHECK(unread(without, of_states) == 0);
  Step step(without);
  step.add(of_states, {&tail, 1});
  step.run();
  CHECK(step.items[0].status == static_cast<std::int32_t>(Code::kNotFinite));
}
#endif

TEST_CASE("a fork goes on by itself, and a rewound timeline as if it had not been there") {
  Random random(23);
  const TinyModel model(32);
  Backend backend(backend_under_test(), model.desc, KvType::kF32, 2);
  for (int round = 0; round < 20; ++round) {
    const auto a = random_tokens(random, random.between(1, 300), 64),
               b = random_tokens(random, random.between(1, 60), 64),
               c = random_tokens(random, random.between(1, 60), 64);
    const auto run = [](const std::vector<std::int32_t>& tokens, std::size_t at) {
      const auto p = static_cast<std::int32_t>(at);
      return pc_run{
          tokens.data(), static_cast<std::uint32_t>(tokens.size()), p, p, 1, nullptr, nullptr, 0,
          nullptr};
    };
    const auto fresh = [&](std::vector<std::int32_t> tokens,
                           const std::vector<std::int32_t>& more) {
      tokens.insert(tokens.end(), more.begin(), more.end());
      const pc_run all = run(tokens, 0);
      return backend.compute(backend.open(), {&all, 1});
    };
    Backend::Timeline trunk = backend.open();
    const pc_run first = run(a, 0);
    backend.compute(trunk, {&first, 1});
    Backend::Timeline branch = backend.fork(trunk);
    const pc_run then_b = run(b, a.size()), then_c = run(c, a.size());
    Step step(backend);
    step.add(trunk, {&then_b, 1});
    step.add(branch, {&then_c, 1});
    step.run();
    require_near(step.logits[0], fresh(a, b));
    require_near(step.logits[1], fresh(a, c));
    // Into what they share, and on.
    const std::uint32_t kept = random.below(static_cast<std::uint32_t>(a.size()) + 1);
    backend.rewind(trunk, kept);
    const pc_run again = run(c, kept);
    require_near(backend.compute(trunk, {&again, 1}),
                 fresh({a.begin(), a.begin() + static_cast<std::ptrdiff_t>(kept)}, c));
    backend.rewind(branch, static_cast<std::uint32_t>(a.size()));
    require_near(backend.compute(branch, {&then_b, 1}), fresh(a, b));
  }
}

TEST_CASE("what is attached later is seen from then on, and forgotten when it is rewound") {
  Random random(24);
  const TinyModel model(33);
  PlanRunner runner(backend_under_test(), model.desc, KvType::kF32, 1);
  Backend& backend = runner.backend();
  const auto module = runner.encode({{{random_tokens(random, 40, 64), 0, true}}});
  const pc_kv_segment segment = seam_segment(module.at(0).segment, 10);
  const auto tokens = random_tokens(random, 20, 64);
  const pc_run head{tokens.data(), 10, 0, 0, 1, nullptr, nullptr, 0, nullptr},
      tail{&tokens[10], 10, 50, 50, 1, nullptr, nullptr, 0, nullptr};
  Backend::Timeline later = backend.open(), without = backend.open();
  backend.compute(later, {&head, 1});
  backend.compute(without, {&head, 1});
  backend.attach(later, segment);
  const auto with = backend.compute(later, {&tail, 1});
  const auto bare = backend.compute(without, {&tail, 1});
  REQUIRE(with != bare);
  backend.rewind(later, 10, 0);
  require_near(backend.compute(later, {&tail, 1}), bare);
}

TEST_CASE("an item fails alone, and leaves its timeline as it was") {
  Random random(25);
  const TinyModel model(34);
  Backend backend(backend_under_test(), model.desc, KvType::kF32, 2);
  const auto good = random_tokens(random, 400, 64);  // more than a sweep
  auto bad = good;
  bad[390] = 64;
  const auto run = [](const std::vector<std::int32_t>& tokens, std::int32_t p) {
    return pc_run{
        tokens.data(), static_cast<std::uint32_t>(tokens.size()), p, p, 1, nullptr, nullptr, 0,
        nullptr};
  };
  const std::int32_t set = 1;
  const pc_run first = run(good, 0), fine = run(good, 400), broken = run(bad, 400),
               nothing{good.data(), 0, 400, 400, 1, nullptr, nullptr, 0, nullptr};
  std::vector<Backend::Timeline> timelines;
  for (int i = 0; i < 4; ++i) {
    timelines.push_back(backend.open());
    backend.compute(timelines.back(), {&first, 1});
  }
  Step step(backend);
  step.add(timelines[0], {&fine, 1});
  step.add(timelines[1], {&broken, 1});
  step.add(timelines[2], {&fine, 1}, &set);
  step.add(timelines[3], {&nothing, 1});
  step.run();
  CHECK(step.items[0].status == 0);
  CHECK(step.items[1].status == static_cast<int>(Code::kInvalidArgument));
  CHECK(std::string(step.items[1].error.message).find("64") != std::string::npos);
  CHECK(step.items[2].status == static_cast<int>(Code::kCancelled));
  CHECK(step.items[3].status == static_cast<int>(Code::kInvalidArgument));
  for (int i = 1; i < 4; ++i)
    require_near(backend.compute(timelines[static_cast<std::size_t>(i)], {&fine, 1}),
                 step.logits[0]);
}

struct Rows {
  std::vector<std::uint64_t> tokens;
  std::vector<std::vector<float>> values;
  std::size_t width;
  static void take(void* user, std::uint64_t token, const float* values) {
    auto* const rows = static_cast<Rows*>(user);
    rows->tokens.push_back(token);
    rows->values.emplace_back(values, values + rows->width);
  }
};

TEST_CASE("an item's rows are what each token would have made as the last one, or are refused") {
  const TinyModel model(6, TinyShape{});
  Backend backend(backend_under_test(), model.desc, KvType::kF32, 2);
  Random random(4);
  Backend::Timeline one = backend.open(), other = backend.open();
  // More than a sweep has room for, in two runs of one item beside another item.
  constexpr std::uint32_t kTokens = 600 / kFewerCases, kFirst = kTokens / 3;
  std::vector<std::int32_t> tokens;
  for (std::uint32_t i = 0; i < kTokens; ++i)
    tokens.push_back(static_cast<std::int32_t>(random.below(model.desc.vocab_size)));
  const auto run = [&](std::uint32_t from, std::uint32_t n) {
    return pc_run{tokens.data() + from,
                  n,
                  static_cast<std::int32_t>(from),
                  static_cast<std::int32_t>(from),
                  from != 0,
                  nullptr,
                  nullptr,
                  0,
                  nullptr};
  };
  const std::vector<pc_run> runs = {run(0, kTokens / 2), run(kTokens / 2, kTokens - kTokens / 2)};
  const std::vector<pc_run> alone = {run(0, 7)};
  Rows logits{{}, {}, model.desc.vocab_size};
  Step step(backend);
  step.add(other, alone);
  step.add(one, runs);
  step.items[1].row = Rows::take;
  step.items[1].row_user = &logits;
  step.items[1].first_row = kFirst;
  step.run();
  REQUIRE(step.items[0].status == 0);
  REQUIRE(step.items[1].status == 0);
  REQUIRE(logits.tokens.size() == kTokens - kFirst);
  for (std::size_t i = 0; i < logits.tokens.size(); ++i) REQUIRE(logits.tokens[i] == kFirst + i);
  require_near(logits.values.back(), step.logits[1]);
  for (const std::uint32_t token :
       {kFirst, kFirst + 1, kFirst + 31, kFirst + 32, kTokens / 2, 511u, 512u, kTokens - 1}) {
    if (token >= kTokens) continue;  // A build with fewer cases has a shorter text.
    INFO(token);
    Backend::Timeline prefix = backend.open();
    const std::vector<pc_run> until = {run(0, token + 1)};
    Step last(backend);
    last.add(prefix, until);
    Rows hidden{{}, {}, model.desc.d_model};
    last.items[0].row = Rows::take;
    last.items[0].row_user = &hidden;
    last.items[0].first_row = token;
    last.items[0].row_kind = PC_ROW_HIDDEN;
    last.run();
    REQUIRE(last.items[0].status == 0);
    require_near(logits.values[token - kFirst], last.logits[0]);
    // The head makes logits of what is behind the final norm.
    REQUIRE(hidden.tokens == std::vector<std::uint64_t>{token});
    for (std::uint32_t v = 0; v < model.desc.vocab_size; ++v) {
      const auto* const head =
          static_cast<const float*>(model.desc.lm_head.data) + std::size_t{v} * model.desc.d_model;
      double dot = 0;
      for (std::uint32_t d = 0; d < model.desc.d_model; ++d)
        dot += double{head[d]} * hidden.values[0][d];
      dot *= model.desc.logit_scale;
      if (const double cap = model.desc.logit_softcap; cap != 0.0) dot = cap * std::tanh(dot / cap);
      REQUIRE(std::fabs(dot - last.logits[0][v]) <= kRounding);
    }
  }
}

TEST_CASE("numbers that are not finite end the item that they belong to, and name the layer") {
  Random random(26);
  TinyShape shape;
  shape.n_layers = 3;
  const TinyModel model(35, shape);
  // One word's embedding overflows what the second layer's feed-forward makes of it.
  std::vector<float> words(static_cast<const float*>(model.desc.embedding.data),
                           static_cast<const float*>(model.desc.embedding.data) +
                               std::size_t{shape.vocab_size} * shape.d_model);
  words[5 * shape.d_model] = INFINITY;
  pc_model_desc desc = model.desc;
  desc.embedding.data = words.data();
  Backend backend(backend_under_test(), desc, KvType::kF32, 2);
  Backend sound(backend_under_test(), model.desc, KvType::kF32, 2);
  auto good = random_tokens(random, 20, 64);
  std::ranges::replace(good, 5, 6);
  auto bad = good;
  bad[7] = 5;
  const pc_run fine{good.data(), 20, 0, 0, 1, nullptr, nullptr, 0, nullptr},
      broken{bad.data(), 20, 0, 0, 1, nullptr, nullptr, 0, nullptr};
  const Backend::Timeline a = backend.open(), b = backend.open(), c = backend.open();
  Step step(backend);
  step.add(a, {&fine, 1});
  step.add(b, {&broken, 1});
  step.add(c, {&fine, 1});
  step.run();
  CHECK(step.items[0].status == 0);
  CHECK(step.items[1].status == static_cast<int>(Code::kNotFinite));
  CHECK(
      std::string(step.items[1].error.message).find("the embedding, for the token at position 7") !=
      std::string::npos);
  CHECK(step.items[2].status == 0);
  require_near(step.logits[0], step.logits[2]);
  backend.compute(b, {&fine, 1});  // it is as it was: empty
}

}  // namespace
}  // namespace pc::test
