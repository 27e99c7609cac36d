// Random schemas and prompts, answered in every way that there is: encoded now, mapped from files,
// held in memory, without reuse. Each way computes the same numbers, which are those of the dense
// oracle, and where a plan is exact those of the full prefill.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "runtime/session/session.h"
#include "tests/support/expect.h"
#include "tests/support/plan_oracle.h"
#include "tests/support/random_pml.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_checkpoint.h"
#include "tests/support/torture_form.h"

namespace pc::test {
namespace {

constexpr double kRounding = 1e-4;  // of f32 sums beside the oracle's f64
constexpr std::uint32_t kTokens = 4;

struct Answered {
  std::vector<float> logits;  // behind the prompt
  Tokens tokens;
  SessionStats stats;
};

Answered answer(const std::shared_ptr<const LoadedPrompt>& prompt, bool no_reuse = false) {
  SessionOptions o;
  o.max_tokens = kTokens;
  o.no_reuse = no_reuse;
  const auto session = must(Session::open(prompt, o));
  must(session->prefill());
  Answered a{{session->logits().begin(), session->logits().end()}, {}, {}};
  while (const auto token = must(session->next())) a.tokens.push_back(*token);
  a.stats = session->stats();
  return a;
}

double distance(std::span<const float> a, std::span<const float> b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max<double>(most, std::fabs(a[i] - b[i]));
  return most;
}

// How far the best token is before the second: less than rounding may choose either.
double margin(std::vector<float> logits) {
  std::ranges::nth_element(logits, logits.begin() + 1, std::greater());
  return logits[0] - logits[1];
}

// One schema and one prompt, in a cache of their own.
class Pair {
 public:
  Pair(const TinyCheckpoint& checkpoint, std::uint64_t seed) : random_(seed) {
    options_.model_path = checkpoint.path();
    options_.cache_dir = cache_.path() + "/cache";
    options_.kv_type = KvType::kF32;
    options_.chat_template = "llama2";
    options_.n_threads = 1;
    for (const auto& [name, text] : random_.sources()) cache_.write(name, text);
  }

  // As another process would load it. What a schema or a prompt is refused for is decided before
  // anything is computed.
  Result<std::shared_ptr<const LoadedPrompt>> load() const {
    const auto engine = must(Engine::open(options_));
    PC_TRY(auto schema, LoadedSchema::parse(engine, random_.schema(), cache_.path()));
    return LoadedPrompt::parse(schema, random_.prompt());
  }
  std::string text() const { return random_.schema() + "\n" + random_.prompt(); }

 private:
  RandomPml random_;
  TempFolder cache_;
  EngineOptions options_;
};

bool is_exact(const LoadedPrompt& prompt) {
  for (std::size_t i = 0; i < prompt.plan.runs.size(); ++i)
    if (prompt.plan.runs[i].kind == pml::RunKind::kCached && !prompt.is_exact(i)) return false;
  return true;
}

struct Seen {
  int answered = 0, cached = 0, exact = 0, refused = 0;
};

void compare(const TinyCheckpoint& checkpoint, std::uint64_t seed, Seen* seen) {
  const Pair pair(checkpoint, seed);
  const auto first = pair.load();
  if (!first.ok()) {
    ++seen->refused;
    return;
  }
  INFO("seed " << seed << "\n" << pair.text());
  const LoadedPrompt& prompt = **first;
  const Answered encoded = answer(*first);
  ++seen->answered;
  REQUIRE(max_difference(encoded.logits, oracle_logits(checkpoint.desc(), prompt)) <= kRounding);
  const Answered held = answer(*first);
  REQUIRE(held.logits == encoded.logits);
  REQUIRE(held.tokens == encoded.tokens);
  const Answered mapped = answer(must(pair.load()));
  REQUIRE(mapped.stats.modules_encoded == 0);
  REQUIRE(mapped.logits == encoded.logits);
  REQUIRE(mapped.tokens == encoded.tokens);
  seen->cached += mapped.stats.cached_tokens > 0;
  if (!is_exact(prompt)) return;
  const Answered full = answer(*first, true);
  REQUIRE(full.stats.cached_tokens == 0);
  REQUIRE(distance(full.logits, encoded.logits) <= kRounding);
  if (margin(full.logits) > 2 * kRounding) REQUIRE(full.tokens[0] == encoded.tokens[0]);
  seen->exact += mapped.stats.cached_tokens > 0;
}

TEST_CASE("whichever way a random prompt is answered, the numbers are the same, and the oracle's") {
  const int n = is_full() ? 10'000 : 250;
  const TinyCheckpoint checkpoint(41);
  Seen seen;
  for (int seed = 1; seed <= n; ++seed)
    compare(checkpoint, static_cast<std::uint64_t>(seed), &seen);
  INFO(seen.answered << " answered, " << seen.cached << " with modules, " << seen.exact
                     << " of them exact, " << seen.refused << " refused");
  CHECK(seen.answered > n / 2);
  CHECK(seen.cached > n / 4);
  CHECK(seen.exact > n / 50);
  say("D1", std::to_string(seen.answered) + " answered, " + std::to_string(seen.cached) +
                " with modules, " + std::to_string(seen.exact) + " of them exact, " +
                std::to_string(seen.refused) + " refused");
}

}  // namespace
}  // namespace pc::test
