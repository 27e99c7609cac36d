// Logits against transformers (fixtures by tests/golden/make_*_fixtures.py):
// every family's checkpoint, and plans computed there with a block mask and
// position ids.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "runtime/backend/cpu_backend.h"
#include "runtime/json/json.h"
#include "runtime/model/model.h"
#include "runtime/sampling/prompt_scores.h"
#include "tests/support/fixture.h"
#include "tests/support/plan_runner.h"

namespace pc::test {
namespace {

constexpr double kTolerance = 1e-4;  // of logits of order one, f32 against f32

// Of whole prompts with bf16 weights as they are normally run, where the CPU multiplies
// bf16 and rounds activations to 8 bits: relative, in L2.
constexpr double kBf16Tolerance = 0.02;

std::unique_ptr<Model> load(const std::string& path, std::uint32_t context = 0) {
  auto model = load_model({.path = path, .context_tokens = context});
  INFO(path << ": " << (model.ok() ? "" : model.error().message));
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

// One line of what was measured, for scripts/models-table.
void report(const std::string& kind, const std::string& name, const Model& model, double worst) {
  const char* path = std::getenv("PC_PARITY_REPORT");
  if (!path) return;
  std::ofstream(path, std::ios::app)
      << "{\"kind\": \"" << kind << "\", \"name\": \"" << name << "\", \"family\": \""
      << model.family << "\", \"format\": \"" << model.format << "\", \"positions\": \""
      << position_scheme_name(model.positions())
      << "\", \"relocates\": " << (model.relocates() ? "true" : "false") << ", \"worst\": " << worst
      << "}\n";
}

// The first matrix of a block says how the weights are stored.
bool has_type(const Model& model, pc_dtype type) {
  return model.desc.layers[0].wq.dtype == static_cast<std::uint32_t>(type);
}

// ln of the softmax of a reference's logits, [vocab].
double reference_logprob(const float* logits, std::uint32_t vocab, std::int32_t token) {
  double sum = 0;
  for (std::uint32_t v = 0; v < vocab; ++v) sum += std::exp(double{logits[v]});
  return logits[token] - std::log(sum);
}

// The likelihoods of a prompt's tokens, by the rows that a step hands out. Each logit is off by at
// most kTolerance, so that a logarithm of a probability is by twice as much.
void check_scores(Backend& backend, const std::vector<std::int32_t>& tokens,
                  const std::vector<pc_run>& runs, const float* want, std::uint32_t vocab) {
  PromptScores scores(tokens, {3, 0}, tokens.size(), vocab);
  const Backend::Timeline timeline = backend.open();
  pc_step_item item{};
  item.timeline = timeline.get();
  item.runs = runs.data();
  item.n_runs = static_cast<std::uint32_t>(runs.size());
  item.first_row = scores.first_row();
  item.row_user = &scores;
  item.row = [](void* user, std::uint64_t token, const float* logits) {
    static_cast<PromptScores*>(user)->take(token, logits);
  };
  backend.step({&item, 1});
  REQUIRE(item.status == 0);
  REQUIRE_FALSE(scores.not_finite());
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    const float* const logits = want + (i - 1) * std::size_t{vocab};
    REQUIRE(std::fabs(scores.of(i).logprob - reference_logprob(logits, vocab, tokens[i])) <=
            2 * kTolerance);
    const double likeliest = reference_logprob(
        logits, vocab,
        static_cast<std::int32_t>(std::max_element(logits, logits + vocab) - logits));
    REQUIRE(std::fabs(scores.top(i)[0].logprob - likeliest) <= 2 * kTolerance);
  }
}

// One case of a fixture: token by token, then as one prompt. `want` is [n][vocab].
double check_case(const std::string& name, const Model& model, JsonView sample, const float* want) {
  const auto tokens = integers(sample.member("tokens").value());
  const auto positions = integers(sample.member("positions").value());
  const std::uint32_t vocab = model.desc.vocab_size;
  const auto n = static_cast<std::uint32_t>(tokens.size());
  std::vector<pc_run> one_by_one, whole;  // whole: a run for each stretch without a jump
  for (std::size_t i = 0; i < n; ++i) {
    one_by_one.push_back(
        {&tokens[i], 1, positions[i], positions[i], 1, nullptr, nullptr, 0, nullptr});
    if (i == 0 || positions[i] != positions[i - 1] + 1)
      whole.push_back({&tokens[i], 0, positions[i], positions[i], 1, nullptr, nullptr, 0, nullptr});
    ++whole.back().n_tokens;
  }
  PlanRunner runner(cpu_backend(), model.desc, KvType::kF32, 2, Precision::kExact);
  const auto steps = runner.compute({}, one_by_one, false);
  const auto prefill = runner.compute({}, whole, true);
  double worst = 0;
  for (std::size_t i = 0; i < n; ++i)
    worst = std::max(worst, worst_row(steps[i], want + i * vocab));
  REQUIRE(worst <= kTolerance);
  const float* last = want + (n - 1) * std::size_t{vocab};
  REQUIRE(worst_row(prefill[0], last) <= kTolerance);
  check_scores(runner.backend(), tokens, whole, want, vocab);
  if (has_type(model, PC_DTYPE_BF16)) {
    PlanRunner fast(cpu_backend(), model.desc, KvType::kF32, 2);
    const double moved = relative_error(fast.compute({}, whole, true)[0], last);
    REQUIRE(moved <= kBf16Tolerance);
    report("bf16", name, model, moved);
  }
  return std::max(worst, worst_row(prefill[0], last));
}

void check_model(const std::string& path, const std::filesystem::path& expected_folder) {
  const std::string name = std::filesystem::path(path).filename().string();
  INFO(name);
  const JsonDocument expected = read_json(expected_folder / "expected.json");
  const std::vector<float> logits = read_floats(expected_folder / "expected.bin");
  const JsonView cases = expected.root().member("cases").value();
  std::size_t read = 0;
  double worst = 0;
  for (std::size_t c = 0; c < cases.size(); ++c) {
    const auto context = static_cast<std::uint32_t>(cases.at(c).integer_or("context", 0).value());
    const auto model = load(path, context);
    INFO("case " << c);
    worst = std::max(worst, check_case(name, *model, cases.at(c), logits.data() + read));
    read += cases.at(c).member("tokens")->size() * model->desc.vocab_size;
    if (c + 1 == cases.size()) report("logits", name, *model, worst);
  }
  REQUIRE(read == logits.size());
}

TEST_CASE("every family's logits equal transformers' at every position") {
  std::size_t n_models = 0;
  for (const auto& entry : std::filesystem::directory_iterator(golden("models"))) {
    if (!std::filesystem::exists(entry.path() / "expected.json")) continue;
    check_model(entry.path().string(), entry.path());
    ++n_models;
  }
  REQUIRE(n_models >= 30);
}

TEST_CASE("the same models as GGUF files, and quantised ones, equal transformers") {
  const JsonDocument index = read_json(golden("gguf/index.json"));
  const std::filesystem::path folder = golden("gguf");
  REQUIRE(index.root().size() >= 35);
  for (std::size_t i = 0; i < index.root().size(); ++i) {
    const JsonView entry = index.root().at(i);
    const std::string file(entry.member("file")->string().value());
    DYNAMIC_SECTION(file) {
      check_model((folder / file).string(), folder / entry.member("expected")->string().value());
    }
  }
}

TEST_CASE("the trained models of this repository equal transformers") {
  std::size_t n_models = 0;
  for (const auto& entry : std::filesystem::directory_iterator(golden("trained"))) {
    const std::string name = entry.path().filename().string();
    DYNAMIC_SECTION(name) {
      check_model((source_dir() / "models" / name).string(), entry.path());
    }
    ++n_models;
  }
  REQUIRE(n_models >= 3);
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

void check_plan(const std::string& name, const std::string& path, std::uint32_t context,
                const RawPlan& plan, const std::vector<float>& want) {
  INFO(name << " on " << path);
  const auto model = load(path, context);
  PlanRunner runner(cpu_backend(), model->desc, KvType::kF32, 2, Precision::kExact);
  const auto got = runner.run(plan);
  REQUIRE(got.size() * model->desc.vocab_size == want.size());
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    worst = std::max(worst, worst_row(got[i], want.data() + i * model->desc.vocab_size));
  REQUIRE(worst <= kTolerance);
  report("plan", name, *model, worst);
}

TEST_CASE("plans equal transformers with a block mask and position ids") {
  std::size_t n_plans = 0;
  for (const auto& entry : std::filesystem::directory_iterator(golden("plans"))) {
    if (entry.path().extension() != ".json") continue;
    const std::string name = entry.path().stem().string();
    const JsonDocument document = read_json(entry.path());
    const std::string model(document.root().member("model")->string().value());
    const auto context =
        static_cast<std::uint32_t>(document.root().integer_or("context", 0).value());
    const RawPlan plan = read_plan(document.root());
    const std::vector<float> want = read_floats(golden("plans/" + name + ".bin"));
    check_plan(name, golden("models/" + model), context, plan, want);
    const std::string gguf = golden("gguf/" + model + ".gguf");
    if (std::filesystem::exists(gguf)) check_plan(name, gguf, context, plan, want);
    ++n_plans;
  }
  REQUIRE(n_plans >= 100);
}

TEST_CASE("the published greedy tokens of tiny-random-llama") {
  if (shared_dir().empty()) return;
  const auto folder = shared_dir() / "assets/tiny-random-llama";
  auto model = load_model({.path = folder.string()});
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
      const auto logits =
          runner.compute({}, {{tokens.data(), n, 0, 0, 1, nullptr, nullptr, 0, nullptr}}, true);
      tokens.push_back(static_cast<std::int32_t>(
          std::max_element(logits[0].begin(), logits[0].end()) - logits[0].begin()));
    }
    REQUIRE(tokens == want);
  }
}

}  // namespace
}  // namespace pc::test
