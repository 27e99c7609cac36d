// Deterministic precision: a timeline gets the same logits, to the bit, alone and beside others,
// with its prompt computed at once or in pieces, and its answer token by token or several at once.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <deque>
#include <iterator>
#include <vector>

#include "runtime/backend/cpu_backend.h"
#include "tests/support/packed_model.h"
#include "tests/support/plan_runner.h"
#include "tests/support/random.h"
#include "tests/support/tiny_model.h"

namespace pc::test {
namespace {

using Logits = std::vector<std::vector<float>>;

// A conversation whose tokens are given, and how far it is.
struct Talk {
  Talk(Backend& backend, std::vector<std::int32_t> all)
      : timeline(backend.open()), tokens(std::move(all)) {}

  Backend::Timeline timeline;
  std::vector<std::int32_t> tokens;
  std::uint32_t n_done = 0;
  Logits logits = {};  // behind the token before n_noted, and each from there on
};

std::vector<std::int32_t> random_tokens(Random& random, std::uint32_t n, std::uint32_t vocab) {
  std::vector<std::int32_t> tokens;
  for (std::uint32_t i = 0; i < n; ++i)
    tokens.push_back(static_cast<std::int32_t>(random.below(vocab)));
  return tokens;
}

// One step: the next n[i] tokens of each talk (0: it waits), and the logits behind the last.
void step(Backend& backend, std::vector<Talk>& talks, const std::vector<std::uint32_t>& n) {
  std::deque<pc_run> runs;
  std::deque<std::vector<float>> logits;
  std::vector<pc_step_item> items;
  for (std::size_t i = 0; i < talks.size(); ++i) {
    if (n[i] == 0) continue;
    Talk& talk = talks[i];
    const auto at = static_cast<std::int32_t>(talk.n_done);
    runs.push_back({talk.tokens.data() + at, n[i], at, at, 1, nullptr, nullptr, 0, nullptr});
    pc_step_item item{};
    item.timeline = talk.timeline.get();
    item.runs = &runs.back();
    item.n_runs = 1;
    item.logits = logits.emplace_back(backend.vocab()).data();
    items.push_back(item);
  }
  backend.step(items);
  std::size_t item = 0;
  for (std::size_t i = 0; i < talks.size(); ++i) {
    if (n[i] == 0) continue;
    REQUIRE(items[item].status == 0);
    talks[i].n_done += n[i];
    talks[i].logits.push_back(logits[item++]);
  }
}

constexpr std::uint32_t kAnswer = 6;

// Alone: the prompt at once, then each token by itself. The logits behind the prompt and each
// token.
Logits alone(Backend& backend, const std::vector<std::int32_t>& tokens) {
  std::vector<Talk> talks;
  talks.emplace_back(backend, tokens);
  step(backend, talks, {static_cast<std::uint32_t>(tokens.size()) - kAnswer});
  for (std::uint32_t i = 0; i < kAnswer; ++i) step(backend, talks, {1});
  return talks[0].logits;
}

// Together: each waits at times, prompts come in random pieces, answers a token or two at a time.
void compare(Backend& backend, Random& random, const std::vector<std::vector<std::int32_t>>& all) {
  std::vector<Logits> want;
  std::vector<Talk> talks;
  for (const auto& tokens : all) {
    want.push_back(alone(backend, tokens));
    talks.emplace_back(backend, tokens);
  }
  while (std::ranges::any_of(talks, [](const Talk& t) { return t.n_done < t.tokens.size(); })) {
    std::vector<std::uint32_t> n(talks.size());
    for (std::size_t i = 0; i < talks.size(); ++i) {
      const auto n_all = static_cast<std::uint32_t>(talks[i].tokens.size());
      const std::uint32_t n_prompt = n_all - kAnswer, done = talks[i].n_done;
      if (random.chance(0.3)) continue;
      n[i] = done < n_prompt ? std::min(random.between(1, 90), n_prompt - done)
                             : std::min(random.between(1, 2), n_all - done);
    }
    if (std::ranges::count(n, 0u) == static_cast<std::ptrdiff_t>(n.size())) continue;
    step(backend, talks, n);
    for (std::size_t i = 0; i < talks.size(); ++i) {
      const auto n_prompt = static_cast<std::uint32_t>(talks[i].tokens.size()) - kAnswer;
      if (n[i] == 0 || talks[i].n_done < n_prompt) continue;
      INFO("timeline " << i << ", " << talks[i].n_done << " tokens");
      REQUIRE(talks[i].logits.back() == want[i][talks[i].n_done - n_prompt]);
    }
  }
}

// One to six conversations: short ones, and such as are long enough for threads to share attention
// to one head (256 tokens and more a share).
std::vector<std::vector<std::int32_t>> random_talks(Random& random, std::uint32_t vocab) {
  constexpr std::uint32_t kLengths[] = {1, 5, 17, 37, 120, 300, 530, 700};
  std::vector<std::vector<std::int32_t>> all(random.between(1, 6));
  for (auto& tokens : all)
    tokens = random_tokens(random, kLengths[random.below(std::size(kLengths))] + kAnswer, vocab);
  return all;
}

TEST_CASE("packed weights of every type: a timeline's logits are those that it has alone") {
  Random random(79);
  std::uint64_t seed = 0;
  for (const simd::Type type : kQuantisedTypes) {
    const auto threads = static_cast<std::uint32_t>(1 + seed % 4);
    const KvType states[] = {KvType::kBf16, KvType::kF32, KvType::kQ8};
    INFO(simd::shape_of(type).name << ", " << threads << " threads");
    const PackedModel model(1 + seed, type);
    Backend backend(cpu_backend(), model.desc, states[seed % 3], threads, Precision::kDeterministic,
                    &model.pack);
    REQUIRE(backend.remark() == "");  // else it says why nothing is packed
    for (int round = 0; round < 3; ++round)
      compare(backend, random, random_talks(random, model.desc.vocab_size));
    ++seed;
  }
}

TEST_CASE("a timeline's logits do not depend on how many threads compute") {
  Random random(80);
  const PackedModel packed(60, simd::Type::kQ4_K);
  TinyShape shape;
  shape.dtype = PC_DTYPE_BF16;
  const TinyModel stored(61, shape);
  for (const bool packs : {false, true}) {
    const pc_model_desc& desc = packs ? packed.desc : stored.desc;
    const auto tokens = random_tokens(random, 900, desc.vocab_size);
    Logits want;
    for (std::uint32_t threads = 1; threads <= 4; ++threads) {
      INFO(threads << " threads, packed: " << packs);
      Backend backend(cpu_backend(), desc, KvType::kBf16, threads, Precision::kDeterministic,
                      packs ? &packed.pack : nullptr);
      const Logits got = alone(backend, tokens);
      if (threads == 1) want = got;
      REQUIRE(got == want);
    }
  }
}

TEST_CASE("a timeline's logits do not depend on what is computed beside it, nor on pieces") {
  Random random(77);
  const KvType types[] = {KvType::kF32, KvType::kBf16, KvType::kQ8};
  for (int round = 0; round < 24; ++round) {
    TinyShape shape = TinyShape::random(random);
    shape.n_heads = 4;
    if (shape.latent == 0) {
      shape.n_kv_heads = 2;
      shape.head_dim = shape.rope_dims = round % 2 ? 16 : 8;
    }
    shape.window = round % 3 ? 0 : 40;
    shape.dtype = round % 4 < 2 ? PC_DTYPE_F32 : PC_DTYPE_BF16;
    const KvType type = types[round % 3];
    INFO("round " << round << ", weights " << shape.dtype << ", window " << shape.window);
    const TinyModel model(900 + static_cast<std::uint64_t>(round), shape);
    Backend backend(cpu_backend(), model.desc, type, 1 + round % 4, Precision::kDeterministic);
    std::vector<std::vector<std::int32_t>> all;
    for (const std::uint32_t n : {5u, 37u, 300u, 530u})
      all.push_back(random_tokens(random, n + kAnswer, shape.vocab_size));
    compare(backend, random, all);
    compare(backend, random, random_talks(random, shape.vocab_size));
  }
}

TEST_CASE(
    "what a question attends to does not depend on what is computed beside it, nor on pieces") {
  Random random(78);
  for (int round = 0; round < 24; ++round) {
    TinyShape shape = TinyShape::random(random);
    if (shape.latent == 0) shape.head_dim = shape.rope_dims = 16;
    shape.positions = 0;
    const TinyModel model(950 + static_cast<std::uint64_t>(round), shape);
    INFO("round " << round);
    PlanRunner runner(cpu_backend(), model.desc, KvType::kBf16, 1 + round % 4,
                      Precision::kDeterministic);
    Backend& backend = runner.backend();
    RawPlan plan;
    plan.jobs = {{{{random_tokens(random, 290, shape.vocab_size), 0, true}}}};
    plan.prompt = {{0, 0, plan.jobs[0].runs[0].tokens, 3},
                   {-1, 0, random_tokens(random, 64, shape.vocab_size), 293}};
    const PlanRunner::Prompt prompt = runner.prompt_of(plan);
    // The question's next n tokens, beside n_others of another timeline.
    const auto ask = [&](Backend::Timeline& timeline, std::uint32_t done, std::uint32_t n,
                         Backend::Timeline* other, std::uint64_t* weights) {
      const auto at = static_cast<std::int32_t>(done);
      const pc_run part{
          prompt.fresh[0].tokens + at, n, 293 + at, 293 + at, 1, nullptr, nullptr, 0, nullptr};
      pc_step_item items[2] = {};
      const std::size_t mine = other && random.chance(0.5) ? 1 : 0;
      for (pc_step_item& item : items) item.runs = &part, item.n_runs = 1;
      items[mine].timeline = timeline.get();
      items[mine].weights = weights;
      if (other) items[1 - mine].timeline = other->get();
      backend.step(std::span(items, other ? 2 : 1));
      for (std::size_t i = 0; i < (other ? 2u : 1u); ++i) REQUIRE(items[i].status == 0);
    };
    std::vector<std::uint64_t> want(290), got(290);
    Backend::Timeline alone = runner.open(prompt), beside = runner.open(prompt),
                      other = runner.open(prompt);
    ask(alone, 0, 64, nullptr, want.data());
    for (std::uint32_t done = 0, n = 0; done < 64; done += n) {
      n = std::min(random.between(1, 40), 64 - done);
      ask(beside, done, n, &other, got.data());
    }
    REQUIRE(got == want);
  }
}

}  // namespace
}  // namespace pc::test
