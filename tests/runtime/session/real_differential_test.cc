// Random schemas and prompts over a trained checkpoint (D2), as differential_test.cc has them over
// a random one: encoded now, found by another engine, in memory; where a plan is exact those
// numbers and greedy tokens are the full prefill's, and of every plan that is short enough the
// dense oracle's, which reads the file's own weights in double precision.

#include <algorithm>
#include <regex>

#include "runtime/schema/loaded_schema.h"
#include "runtime/session/session.h"
#include "tests/support/plan_oracle.h"
#include "tests/support/random_pml.h"
#include "tests/support/real_models.h"
#include "tests/support/temp_folder.h"
#include "tests/support/torture_form.h"
#include "tests/support/wide_model.h"

namespace pc::test {
namespace {

// f32 through all layers, sums in another order: as in real_modules_test.cc.
constexpr double kRounding = 1e-4;
constexpr std::uint32_t kTokens = 4;
// The model's own format but for a system turn that its template adds where there is none, behind
// which few plans would be exact.
constexpr const char* kChat = "chatml";
// Rows of all passes together, of which the oracle does some sixty a second on one core.
constexpr std::size_t kMostRows = 200, kMostRowsQuick = 60;

using Rows = std::vector<std::vector<float>>;

struct Answered {
  Rows logits;    // behind the prompt, then those that each later token was drawn from
  Tokens tokens;  // of the answer; -1 last where the model ended it
  SessionStats stats;
};

Answered answer(const std::shared_ptr<const LoadedPrompt>& prompt, bool no_reuse = false) {
  SessionOptions o;
  o.max_tokens = kTokens;
  o.no_reuse = no_reuse;
  const auto session = must(Session::open(prompt, o));
  must(session->prefill());
  Answered a;
  while (a.tokens.size() < kTokens && (a.tokens.empty() || a.tokens.back() >= 0)) {
    const auto token = must(session->next());
    a.tokens.push_back(token.value_or(-1));
    a.logits.emplace_back(session->logits().begin(), session->logits().end());
  }
  a.stats = session->stats();
  return a;
}

double norm(const std::vector<float>& logits) {
  double square = 0;
  for (const float x : logits) square += double{x} * x;
  return std::sqrt(square);
}

// How far the best token is before the second.
double margin(std::vector<float> logits) {
  std::ranges::nth_element(logits, logits.begin() + 1, std::greater());
  return double{logits[0]} - logits[1];
}

// What rounding may turn, by the bound of real_logits_test.cc: six deviations of a difference of
// two logits whose errors are spread evenly.
double turns(const std::vector<float>& logits) {
  return 6 * std::sqrt(2.0 / static_cast<double>(logits.size())) * kRounding * norm(logits);
}

// The generator's words as words of a language, of which a trained model has tokens.
std::string in_english(const std::string& pml) {
  static const std::vector<std::string> words = {
      "tram",  "harbour", "late",  "museum", "open", "rain",  "hotel", "station", "from", "to",
      "night", "garden",  "north", "cheap",  "walk", "bread", "river", "market",  "the",  "a",
      "old",   "train",   "seven", "ticket", "why",  "where", "is",    "was",     "very", "near",
      "coast", "two",     "goes",  "sleeps", "eats", "plan",  "day",   "week",    "and",  "but"};
  static const std::regex word("\\bw([0-9]+)\\b");
  std::string out;
  auto at = pml.cbegin();
  for (std::sregex_iterator it(pml.begin(), pml.end(), word), end; it != end; ++it) {
    out.append(at, (*it)[0].first).append(words.at(std::stoul((*it)[1])));
    at = (*it)[0].second;
  }
  return out.append(at, pml.cend());
}

bool is_exact(const LoadedPrompt& prompt) {
  for (std::size_t i = 0; i < prompt.plan.runs.size(); ++i)
    if (prompt.plan.runs[i].kind == pml::RunKind::kCached && !prompt.is_exact(i)) return false;
  return true;
}

struct Seen {
  int answered = 0, cached = 0, exact = 0, refused = 0, with_oracle = 0,
      approximate_with_oracle = 0;
  std::size_t tokens = 0, equal_tokens = 0;
  double from_full = 0, from_oracle = 0;  // the largest distances

  std::string text() const {
    std::array<char, 400> line;
    std::snprintf(line.data(), line.size(),
                  "%d answered, %d with modules; %d of them exact: at most %.1e from the full "
                  "prefill, %zu of %zu greedy tokens equal; %d at most %.1e from the dense oracle, "
                  "%d of them not exact; %d refused",
                  answered, cached, exact, from_full, equal_tokens, tokens, with_oracle,
                  from_oracle, approximate_with_oracle, refused);
    return line.data();
  }
};

// Two engines on one store, as two processes would have them.
class Trained {
 public:
  explicit Trained(const RealReference& reference)
      : first_(reference, KvType::kF32, Precision::kExact, cache_.path(), kChat),
        second_(reference, KvType::kF32, Precision::kExact, cache_.path(), kChat),
        wide_(first_.engine()->model().desc) {}

  void compare(std::uint64_t seed, Seen* seen) {
    const RandomPml random(seed);
    const TempFolder sources;
    for (const auto& [name, text] : random.sources()) sources.write(name, in_english(text));
    const std::string schema = in_english(random.schema()), asked = in_english(random.prompt());
    const auto load = [&](const RealEngine& engine) -> Result<std::shared_ptr<const LoadedPrompt>> {
      PC_TRY(auto loaded, LoadedSchema::parse(engine.engine(), schema, sources.path()));
      return LoadedPrompt::parse(loaded, asked);
    };
    INFO("seed " << seed << "\n" << schema << "\n" << asked);
    const auto prompt = load(first_);
    if (!prompt.ok()) {
      ++seen->refused;
      return;
    }
    ++seen->answered;
    const Answered encoded = answer(*prompt);
    const Answered found = answer(must(load(second_)));
    REQUIRE(found.stats.modules_encoded == 0);
    REQUIRE((found.logits == encoded.logits && found.tokens == encoded.tokens));
    seen->cached += found.stats.cached_tokens > 0;
    if (found.stats.cached_tokens > 0 && is_exact(**prompt)) compare_full(*prompt, encoded, seen);
    compare_oracle(**prompt, encoded, seen);
  }

  // Nothing of one pair is found by the next, and the disk is not filled.
  void forget() {
    for (const RealEngine* engine : {&first_, &second_}) engine->engine()->held().release();
    must(first_.engine()->store()->gc(0));
  }

 private:
  static void compare_full(const std::shared_ptr<const LoadedPrompt>& prompt,
                           const Answered& encoded, Seen* seen) {
    const Answered full = answer(prompt, true);
    REQUIRE(full.stats.cached_tokens == 0);
    ++seen->exact;
    for (std::size_t i = 0; i < full.tokens.size(); ++i) {
      const double apart = relative_error(encoded.logits.at(i), full.logits[i]);
      seen->from_full = std::max(seen->from_full, apart);
      INFO("token " << i << ", " << apart << " from the full prefill");
      REQUIRE(apart <= kRounding);
      const bool equal = encoded.tokens[i] == full.tokens[i];
      REQUIRE((equal || margin(full.logits[i]) <= turns(full.logits[i])));
      ++seen->tokens;
      seen->equal_tokens += equal;
      if (!equal) return;  // what follows answers something else
    }
    REQUIRE(encoded.tokens.size() == full.tokens.size());
  }

  void compare_oracle(const LoadedPrompt& prompt, const Answered& encoded, Seen* seen) const {
    const std::vector<DenseRow> rows = oracle_rows(prompt);
    if (rows.size() > (is_full() ? kMostRows : kMostRowsQuick)) return;
    const auto oracle = oracle_logits(wide_.desc(), rows);
    const std::vector<float> want(oracle.begin(), oracle.end());
    const double apart = relative_error(encoded.logits.at(0), want);
    ++seen->with_oracle;
    seen->approximate_with_oracle += !is_exact(prompt);
    seen->from_oracle = std::max(seen->from_oracle, apart);
    INFO(apart << " from the dense oracle");
    REQUIRE(apart <= kRounding);
  }

  TempFolder cache_;
  RealEngine first_, second_;
  WideModel wide_;
};

TEST_CASE(
    "random prompts over a trained model: cached as computed, and as the dense oracle has them") {
  const RealReference reference = real_reference("smollm2-135m-instruct");
  if (!reference.there()) return;
  const int n = n_rounds(40, 500);
  Trained trained(reference);
  Seen seen;
  for (int seed = 1; seed <= n; ++seed) {
    trained.compare(static_cast<std::uint64_t>(seed), &seen);
    trained.forget();
  }
  say("D2", seen.text());
  CHECK(seen.answered > n / 2);
  CHECK(seen.exact > n / 20);
  CHECK(seen.approximate_with_oracle > n / 20);
}

}  // namespace
}  // namespace pc::test
