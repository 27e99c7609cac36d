// Logits against transformers (fixtures by tests/golden/make_*_fixtures.py):
// every family's checkpoint, and plans computed there with a block mask and
// position ids.

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "runtime/cpu_backend.h"
#include "runtime/json.h"
#include "runtime/model.h"
#include "tests/support/fixture.h"
#include "tests/support/plan_runner.h"

namespace pc::test {
namespace {

constexpr double kTolerance = 1e-4;  // of logits of order one, f32 against f32

// Of whole prompts with bf16 weights, where the CPU multiplies bf16 and rounds
// activations to 8 bits: relative, in L2. Step by step they go through f32.
constexpr double kBf16Tolerance = 0.02;

std::unique_ptr<Model> load(const std::string& name) {
  auto model = load_model((source_dir() / "tests/golden/models" / name).string());
  INFO(name << ": " << (model.ok() ? "" : model.error().message));
  REQUIRE(model.ok());
  return std::move(model).value();
}

std::vector<std::int32_t> integers(JsonView array) {
  std::vector<std::int32_t> values;
  for (std::size_t i = 0; i < array.size(); ++i)
    values.push_back(static_cast<std::int32_t>(array.at(i).integer().value()));
  return values;
}

JsonDocument read_json(const std::filesystem::path& path) {
  auto document = JsonDocument::read_file(path.string());
  REQUIRE(document.ok());
  return std::move(document).value();
}

double worst_row(const std::vector<float>& got, const float* want) {
  double worst = 0;
  for (std::size_t v = 0; v < got.size(); ++v)
    worst = std::max(worst, static_cast<double>(std::fabs(got[v] - want[v])));
  return worst;
}

double relative_error(const std::vector<float>& got, const float* want) {
  double difference = 0, norm = 0;
  for (std::size_t v = 0; v < got.size(); ++v) {
    difference += std::pow(static_cast<double>(got[v]) - want[v], 2);
    norm += std::pow(static_cast<double>(want[v]), 2);
  }
  return std::sqrt(difference / norm);
}

TEST_CASE("every family's logits equal transformers' at every position") {
  std::size_t n_models = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(source_dir() / "tests/golden/models")) {
    if (!std::filesystem::exists(entry.path() / "expected.json")) continue;
    const std::string name = entry.path().filename().string();
    INFO(name);
    const auto model = load(name);
    PlanRunner runner(cpu_backend(), model->desc, KvType::kF32, 2);
    const JsonDocument expected = read_json(entry.path() / "expected.json");
    const std::vector<float> logits = read_floats(entry.path() / "expected.bin");
    const JsonView cases = expected.root().member("cases").value();
    const float* want = logits.data();
    for (std::size_t c = 0; c < cases.size(); ++c) {
      const auto tokens = integers(cases.at(c).member("tokens").value());
      const auto positions = integers(cases.at(c).member("positions").value());
      std::vector<pc_run> one_by_one;
      for (std::size_t i = 0; i < tokens.size(); ++i)
        one_by_one.push_back({&tokens[i], 1, positions[i], positions[i], 1});
      const auto n = static_cast<std::uint32_t>(tokens.size());
      const auto steps = runner.compute({}, one_by_one, n, false);
      std::vector<pc_run> whole;  // a run for each stretch without a jump
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (i == 0 || positions[i] != positions[i - 1] + 1)
          whole.push_back({&tokens[i], 0, positions[i], positions[i], 1});
        ++whole.back().n_tokens;
      }
      const auto prefill = runner.compute({}, whole, n, true);
      for (std::size_t i = 0; i < tokens.size(); ++i)
        REQUIRE(worst_row(steps[i], want + i * model->desc.vocab_size) <= kTolerance);
      const float* last = want + (tokens.size() - 1) * model->desc.vocab_size;
      if (model->desc.layers[0].wq.dtype == PC_DTYPE_BF16)
        REQUIRE(relative_error(prefill[0], last) <= kBf16Tolerance);
      else
        REQUIRE(worst_row(prefill[0], last) <= kTolerance);
      want += tokens.size() * model->desc.vocab_size;
    }
    REQUIRE(want == logits.data() + logits.size());
    ++n_models;
  }
  REQUIRE(n_models >= 9);
}

RawPlan read_plan(JsonView root) {
  RawPlan plan;
  const JsonView jobs = root.member("jobs").value();
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    RawJob job;
    const JsonView runs = jobs.at(j).member("runs").value();
    for (std::size_t r = 0; r < runs.size(); ++r) {
      job.runs.push_back(
          {integers(runs.at(r).member("tokens").value()),
           static_cast<std::int32_t>(runs.at(r).member("position")->integer().value()),
           runs.at(r).member("keep")->boolean().value()});
    }
    plan.jobs.push_back(job);
  }
  const JsonView prompt = root.member("prompt").value();
  for (std::size_t r = 0; r < prompt.size(); ++r) {
    const JsonView run = prompt.at(r);
    const auto position = static_cast<std::int32_t>(run.member("position")->integer().value());
    if (const auto job = run.find("job")) {
      plan.prompt.push_back({static_cast<int>(job->integer().value()),
                             static_cast<std::uint32_t>(run.member("run")->integer().value()),
                             {},
                             position});
      continue;
    }
    // A run a token: the fixture holds the logits of each.
    const auto tokens = integers(run.member("tokens").value());
    for (std::size_t i = 0; i < tokens.size(); ++i)
      plan.prompt.push_back({-1, 0, {tokens[i]}, position + static_cast<std::int32_t>(i)});
  }
  return plan;
}

TEST_CASE("plans equal transformers with a block mask and position ids") {
  std::size_t n_plans = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(source_dir() / "tests/golden/plans")) {
    if (entry.path().extension() != ".json") continue;
    INFO(entry.path().filename().string());
    const JsonDocument document = read_json(entry.path());
    const auto model = load(std::string(document.root().member("model")->string().value()));
    const RawPlan plan = read_plan(document.root());
    auto bin = entry.path();
    const std::vector<float> want = read_floats(bin.replace_extension(".bin"));
    PlanRunner runner(cpu_backend(), model->desc, KvType::kF32, 2);
    const auto got = runner.run(plan);
    REQUIRE(got.size() * model->desc.vocab_size == want.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      REQUIRE(worst_row(got[i], want.data() + i * model->desc.vocab_size) <= kTolerance);
    ++n_plans;
  }
  REQUIRE(n_plans >= 6);
}

TEST_CASE("the published greedy tokens of tiny-random-llama") {
  if (shared_dir().empty()) return;
  const auto folder = shared_dir() / "assets/tiny-random-llama";
  auto model = load_model(folder.string());
  INFO((model.ok() ? "" : model.error().message));
  REQUIRE(model.ok());
  const JsonDocument expected = read_json(folder / "expected.json");
  const JsonView greedy = expected.root().member("greedy").value();
  for (std::size_t c = 0; c < greedy.size(); ++c) {
    auto tokens = integers(greedy.at(c).member("input").value());
    const auto want = integers(greedy.at(c).member("output").value());
    PlanRunner runner(cpu_backend(), (*model)->desc, KvType::kF32, 2);
    while (tokens.size() < want.size()) {
      const auto n = static_cast<std::uint32_t>(tokens.size());
      const auto logits = runner.compute({}, {{tokens.data(), n, 0, 0, 1}}, n, true);
      tokens.push_back(static_cast<std::int32_t>(
          std::max_element(logits[0].begin(), logits[0].end()) - logits[0].begin()));
    }
    REQUIRE(tokens == want);
  }
}

}  // namespace
}  // namespace pc::test
