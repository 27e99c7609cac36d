// Pretrained checkpoints against transformers on the same weights: every logit within a
// bound, greedy tokens, and no further from it than llama.cpp is (the figures stored beside
// the reference). Prints what it measures: the table of docs/MODELS.md.

#include <algorithm>
#include <cstring>

#include "simd/kernels.h"
#include "tests/support/real_models.h"
#include "tests/support/temp_folder.h"

namespace pc::test {
namespace {

struct Mode {
  const char* name;
  KvType type;
  Precision precision;
  double RealPrompt::*peer;  // llama.cpp's distance with such states; null: the bound of f32
};

// f32 against f32: sums in another order, and exponentials of another library. 2^-24 a
// rounding; a thousand times that is what the largest activations of trained models exceed
// the others by (model verify --probe shows them).
constexpr double kExactBound = 1e-4;

constexpr Mode kAsRun{"as run: bf16 states", KvType::kBf16, Precision::kFast, &RealPrompt::llama};

constexpr Mode kModes[] = {
    {"exact, f32 states", KvType::kF32, Precision::kExact, nullptr},
    {"8-bit activations, f32 states", KvType::kF32, Precision::kFast, &RealPrompt::llama_f32},
    kAsRun,
    {"q8 states", KvType::kQ8, Precision::kFast, &RealPrompt::llama_q8},
};

double root_mean_square(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v * v;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

struct Greedy {
  std::uint32_t equal = 0, compared = 0;
};

// Each greedy token after the reference's own. One whose margin exceeds what errors of
// relative size `bound` can turn has to be the same: errors spread evenly over the logits
// have a deviation of bound * norm / sqrt(vocabulary), a difference of two sqrt(2) times
// that, and six deviations are passed once in 10^9.
Greedy check_greedy(const RealPrompt& prompt, std::span<const std::vector<float>> logits,
                    double bound) {
  Greedy count;
  const double vocab = static_cast<double>(logits[0].size());
  const double turns = 6 * std::sqrt(2.0) * bound * prompt.norm / std::sqrt(vocab);
  for (std::size_t i = 0; i < prompt.greedy.size(); ++i) {
    const auto best = std::max_element(logits[i].begin(), logits[i].end()) - logits[i].begin();
    INFO("greedy token " << i << ", margin " << prompt.margins[i] << " beside " << turns);
    if (prompt.margins[i] > turns) CHECK(best == prompt.greedy[i]);
    count.equal += best == prompt.greedy[i];
    ++count.compared;
  }
  return count;
}

// What was found of a mode, over prompts.
struct Found {
  std::vector<double> all;          // distances of all prompts
  std::vector<double> mine, peers;  // of those that llama.cpp was asked, too
  Greedy greedy;
};

double largest(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

std::vector<double> peers_of(const RealReference& reference, const Mode& mode) {
  std::vector<double> peers;
  for (const RealPrompt& p : reference.prompts)
    if (mode.peer && p.*mode.peer != 0) peers.push_back(p.*mode.peer);
  return peers;
}

void check_prompt(const RealEngine& engine, const RealPrompt& prompt, const Mode& mode,
                  double bound, Found& found) {
  INFO(prompt.name << ", " << prompt.tokens.size() << " tokens");
  const auto next = std::span(prompt.greedy).first(prompt.greedy.size() - 1);
  const auto logits = engine.logits(prompt.tokens, next);
  const double distance = prompt.distance(logits);
  found.all.push_back(distance);
  if (mode.peer && prompt.*mode.peer != 0) found.mine.push_back(distance);
  if (!mode.peer) {
    CHECK(distance <= kExactBound);
    CHECK(prompt.distance_of_largest(logits[0]) <= kExactBound);
  }
  const Greedy here = check_greedy(prompt, logits, bound);
  found.greedy.equal += here.equal;
  found.greedy.compared += here.compared;
}

void check_mode(const RealReference& reference, const Mode& mode, const std::string& cache) {
  INFO(reference.name << ", " << mode.name);
  const RealEngine engine(reference, mode.type, mode.precision, cache);
  Found found;
  found.peers = peers_of(reference, mode);
  const double peer = mode.peer ? root_mean_square(found.peers) : kExactBound;
  for (const RealPrompt& prompt : reference.prompts)
    check_prompt(engine, prompt, mode, peer, found);
  std::printf("%-21s | %-29s | %.2e, at most %.2e", reference.name.c_str(), mode.name,
              root_mean_square(found.all), largest(found.all));
  std::printf(" | greedy %u of %u", found.greedy.equal, found.greedy.compared);
  if (mode.peer) {
    const double mine = root_mean_square(found.mine);
    std::printf(" | llama.cpp %.2e, at most %.2e, beside %.2e", peer, largest(found.peers), mine);
    CHECK(mine <= peer);  // over 16 prompts and their answers, 512 positions
  }
  std::printf("\n");
  std::fflush(stdout);
}

// Seconds, where all the others are ten minutes.
TEST_CASE("short prompts on pretrained checkpoints have the logits of transformers", "[quick]") {
  constexpr std::size_t kShort = 100;  // tokens
  const TempFolder cache;
  for (const char* name : kRealModels) {
    const RealReference reference = real_reference(name);
    if (!reference.there()) continue;
    INFO(name);
    const RealEngine exact(reference, KvType::kF32, Precision::kExact, cache.path());
    Found found;
    for (const RealPrompt& prompt : reference.prompts)
      if (prompt.tokens.size() <= kShort)
        check_prompt(exact, prompt, kModes[0], kExactBound, found);
    CHECK(found.all.size() >= 3);
  }
}

TEST_CASE("logits and greedy tokens of pretrained checkpoints are those of transformers") {
  const TempFolder cache;
  for (const char* name : kRealModels) {
    const RealReference reference = real_reference(name);
    if (!reference.there()) continue;
    for (const Mode& mode : kModes) check_mode(reference, mode, cache.path());
  }
}

class IsaChosen {
 public:
  explicit IsaChosen(const char* name)
      : before_(std::getenv("PC_ISA") ? std::getenv("PC_ISA") : "") {
    setenv("PC_ISA", name, 1);
  }
  ~IsaChosen() { before_.empty() ? unsetenv("PC_ISA") : setenv("PC_ISA", before_.c_str(), 1); }
  IsaChosen(const IsaChosen&) = delete;

 private:
  std::string before_;
};

TEST_CASE("every instruction set that this CPU has computes the same on pretrained checkpoints") {
  const TempFolder cache;
  for (const char* name : kRealModels) {
    const RealReference reference = real_reference(name);
    if (!reference.there()) continue;
    for (const simd::Kernels* kernels : simd::supported_kernels()) {
      const IsaChosen isa(kernels->name);
      // The scalar table is a hundred times slower: one short prompt says what it has to.
      const bool slow = std::strcmp(kernels->name, "scalar") == 0;
      const RealEngine exact(reference, KvType::kF32, Precision::kExact, cache.path());
      const RealEngine fast(reference, KvType::kBf16, Precision::kFast, cache.path());
      for (const char* prompt_name : {"capital", "chat"}) {
        if (slow && std::strcmp(prompt_name, "chat") == 0) continue;
        const RealPrompt& prompt = reference.prompt(prompt_name);
        INFO(name << " on " << kernels->name << ", " << prompt_name);
        const auto next = std::span(prompt.greedy).first(slow ? 3 : 8);
        const double off = prompt.distance(exact.logits(prompt.tokens, next));
        const double off_fast = prompt.distance(fast.logits(prompt.tokens, next));
        std::printf("%-21s | %-11s | %-7s | exact %.2e | as run %.2e\n", name, kernels->name,
                    prompt_name, off, off_fast);
        CHECK(off <= kExactBound);
        CHECK(off_fast <= largest(peers_of(reference, kAsRun)));  // of prompts, which differ
      }
    }
  }
}

}  // namespace
}  // namespace pc::test
