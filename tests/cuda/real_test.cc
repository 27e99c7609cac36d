// The plug-in on pretrained checkpoints: its logits beside those of transformers, as
// tests/runtime/session/real_logits_test.cc has them of the CPU, and modules beside full prefills.
//
// Through the stand-in short prompts alone: its seconds are a device's microseconds.

#include <algorithm>

#include "runtime/schema/loaded_schema.h"
#include "runtime/session/session.h"
#include "tests/support/plan_runner.h"  // relative_error
#include "tests/support/real_models.h"
#include "tests/support/temp_folder.h"

namespace pc::test {
namespace {

#ifdef PC_TEST_DEVICE
constexpr std::size_t kMostTokens = 2000, kMostGreedy = 32;
#else
constexpr std::size_t kMostTokens = 65, kMostGreedy = 3;
#endif

// As real_logits_test.cc: f32 in another order, a thousand roundings.
constexpr double kExactBound = 1e-4;

struct Mode {
  const char* name;
  KvType type;
  Precision precision;
  double RealPrompt::*peer;  // llama.cpp's distance with such states; null: kExactBound
};
constexpr Mode kModes[] = {
    {"exact, f32 states", KvType::kF32, Precision::kExact, nullptr},
    {"bf16 states", KvType::kBf16, Precision::kFast, &RealPrompt::llama},
    {"q8 states", KvType::kQ8, Precision::kFast, &RealPrompt::llama_q8},
};

// Errors of single prompts differ tenfold, so the bound is llama.cpp's largest.
double bound_of(const RealReference& reference, const Mode& mode) {
  double bound = mode.peer ? 0 : kExactBound;
  for (const RealPrompt& p : reference.prompts)
    if (mode.peer) bound = std::max(bound, p.*mode.peer);
  return bound;
}

// The greedy token, unless errors of relative size `bound` may turn it: six deviations of a
// difference of two logits.
bool is_greedy(const RealPrompt& prompt, std::size_t i, const std::vector<float>& logits,
               double bound) {
  const double turns =
      6 * std::sqrt(2.0) * bound * prompt.norm / std::sqrt(static_cast<double>(logits.size()));
  const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
  return best == prompt.greedy[i] || prompt.margins[i] <= turns;
}

// Those that are there; where none is, the test is skipped, which one that fails must not be.
std::vector<RealReference> references() {
  std::vector<RealReference> there;
  for (const char* name : kRealModels) {
    RealReference reference = real_reference(name);
    if (std::filesystem::exists(reference.path())) there.push_back(std::move(reference));
  }
  if (there.empty()) static_cast<void>(real_reference(kRealModels[0]).there());  // says so
  return there;
}

TEST_CASE("the plug-in's logits on pretrained checkpoints are those of transformers") {
  for (const RealReference& reference : references()) {
    const char* const name = reference.name.c_str();
    for (const Mode& mode : kModes) {
      const TempFolder cache;
      const RealEngine engine(reference, mode.type, mode.precision, cache.path(), "",
                              PC_CUDA_PLUGIN);
      const double bound = bound_of(reference, mode);
      double largest = 0;
      std::uint32_t n_prompts = 0;
      for (const RealPrompt& prompt : reference.prompts) {
        if (prompt.tokens.size() > kMostTokens) continue;
        INFO(name << ", " << mode.name << ", prompt " << prompt.name);
        const auto logits = engine.logits(
            prompt.tokens,
            std::span(prompt.greedy).first(std::min(prompt.greedy.size(), kMostGreedy) - 1));
        const double distance = prompt.distance(logits);
        CHECK(distance <= bound);
        for (std::size_t i = 0; i < logits.size(); ++i)
          CHECK(is_greedy(prompt, i, logits[i], bound));
        largest = std::max(largest, distance);
        ++n_prompts;
      }
      CHECK(n_prompts >= 2);
      std::printf("%-21s | %-17s | %2u prompts | at most %.1e from transformers, bound %.1e\n",
                  name, mode.name, n_prompts, largest, bound);
    }
  }
}

class Towns {
 public:
  Towns(const RealReference& reference, const std::string& backend, const TempFolder& cache)
      : engine_(reference, KvType::kF32, Precision::kExact, cache.path(), "", backend),
        schema_(must(LoadedSchema::parse(engine_.engine(), kSchema, ""))) {}

  std::vector<float> logits(bool no_reuse, const char* repair) const {
    SessionOptions options;
    options.no_reuse = no_reuse;
    options.repair = must(pml::parse_repair(repair));
    const auto prompt = must(LoadedPrompt::parse(
        schema_, "<prompt schema='s'><lisbon/><kyoto/>The town with the temples is</prompt>"));
    const auto session = must(Session::open(prompt, options));
    must(session->prefill());
    return {session->logits().begin(), session->logits().end()};
  }

 private:
  static constexpr const char* kSchema =
      "<schema name='s'>Two towns. <module name='lisbon'>Lisbon has trams, tram 28 is the one that "
      "all take.</module><module name='kyoto'> Kyoto has temples, some of them gold.</module>"
      "</schema>";
  RealEngine engine_;
  std::shared_ptr<LoadedSchema> schema_;
};

TEST_CASE("modules of the plug-in on pretrained checkpoints give what the CPU's give") {
  for (const RealReference& reference : references()) {
    const char* const name = reference.name.c_str();
    const TempFolder cache;
    const Towns cpu(reference, "", cache), device(reference, PC_CUDA_PLUGIN, cache);
    const auto full = device.logits(true, "none");
    CHECK(relative_error(full, cpu.logits(true, "none")) <= kExactBound);
    for (const char* repair : {"none", "selected:30%", "all"}) {
      const double off = relative_error(device.logits(false, repair), cpu.logits(false, repair));
      std::printf("%-21s | repair %-12s | %.1e from the CPU's\n", name, repair, off);
      CHECK(off <= kExactBound);
    }
    CHECK(relative_error(device.logits(false, "all"), full) <= kExactBound);
    CHECK(relative_error(device.logits(false, "none"), full) > 10 * kExactBound);
  }
}

}  // namespace
}  // namespace pc::test
