#include "runtime/prompt/repair.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "runtime/backend/layer_parts.h"

namespace pc {
namespace {

// The layer whose values are compared. Those of the first follow from the tokens alone; the
// second's are the first that have seen others.
constexpr std::uint32_t kComparedLayer = 1;

// At most the last n tokens of runs, which these then lack.
std::vector<pc_run> take_last(std::vector<pc_run>* runs, std::uint64_t n) {
  std::vector<pc_run> last;
  while (n > 0 && !runs->empty()) {
    pc_run& run = runs->back();
    const auto n_taken = static_cast<std::uint32_t>(std::min<std::uint64_t>(n, run.n_tokens));
    const auto n_left = static_cast<std::int32_t>(run.n_tokens - n_taken);
    pc_run taken = run;
    taken.tokens += n_left;
    taken.n_tokens = n_taken;
    taken.position += n_left;
    taken.key_position += n_left;
    last.insert(last.begin(), taken);
    run.n_tokens -= n_taken;
    if (run.n_tokens == 0) runs->pop_back();
    n -= n_taken;
  }
  return last;
}

// A token of a run, and how much it asks to be computed anew.
struct Score {
  double size;
  std::size_t run;
  std::uint32_t token;
};

// Computes the compared layer's states of what is not exact, with what stands before it in place.
Result<std::vector<Score>> distances_of(std::span<const PlacedRun> runs, const BeforeRuns& before,
                                        Scheduler& scheduler, const volatile std::int32_t* cancel) {
  PC_TRY(BackendTimeline probe, before.timeline.fork());
  std::vector<pc_run> computed(before.unread.begin(), before.unread.end());
  std::size_t n_runs = 0;  // up to the last that asks for it
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (!runs[i].exact && runs[i].repair.kind == pml::Repair::Kind::kSelected) n_runs = i + 1;
  for (const PlacedRun& r : runs.first(n_runs)) {
    const auto n = static_cast<std::uint32_t>(r.run->tokens.size());
    if (r.resident && r.exact)
      PC_CHECK_OK(probe.attach(r.resident, {r.run->job_run, 0, n, r.position, nullptr}));
    else
      computed.push_back(
          {r.run->tokens.data(), n, r.position, r.position, 1, nullptr, nullptr, 0, nullptr});
  }
  std::uint32_t first = probe.n_tokens();
  for (const pc_run& run : before.unread) first += run.n_tokens;
  PC_CHECK_OK(scheduler.compute({.timeline = &probe,
                                 .runs = computed,
                                 .cancel = cancel,
                                 .client = before.client,
                                 .n_layers = kComparedLayer + 1}));
  std::vector<Score> all;
  std::vector<float> distances;
  for (std::size_t i = 0; i < n_runs; ++i) {
    const PlacedRun& r = runs[i];
    if (r.resident && r.exact) continue;
    distances.resize(r.run->tokens.size());
    if (!r.exact) {
      PC_CHECK_OK(probe.compare(first, *r.resident, r.run->job_run, kComparedLayer, distances));
      for (std::uint32_t t = 0; t < distances.size(); ++t) all.push_back({distances[t], i, t});
    }
    first += static_cast<std::uint32_t>(distances.size());
  }
  return all;
}

// The prompt's fresh tokens whose attention is measured: its question, as a rule.
constexpr std::uint64_t kMostAsking = 64;

// Of the tokens of what is not exact: how much attention the last fresh tokens pay them, with the
// states as they are, in squares (docs/adr/0023-repairs.md).
Result<std::vector<Score>> attention(std::span<const PlacedRun> runs, const BeforeRuns& before,
                                     Scheduler& scheduler, const volatile std::int32_t* cancel) {
  PC_TRY(BackendTimeline probe, before.timeline.fork());
  const std::uint32_t n_attached = probe.n_attached();
  std::vector<pc_run> fresh(before.unread.begin(), before.unread.end());
  std::size_t n_weights = 0;
  for (const PlacedRun& r : runs) {
    const auto n = static_cast<std::uint32_t>(r.run->tokens.size());
    if (!r.resident) {
      fresh.push_back(
          {r.run->tokens.data(), n, r.position, r.position, 1, nullptr, nullptr, 0, nullptr});
      continue;
    }
    PC_CHECK_OK(probe.attach(r.resident, {r.run->job_run, 0, n, r.position, nullptr}));
    n_weights += n;
  }
  std::vector<std::uint64_t> weights(n_weights);
  std::vector<pc_run> asking = take_last(&fresh, kMostAsking);
  if (!fresh.empty())
    PC_CHECK_OK(scheduler.compute(
        {.timeline = &probe, .runs = fresh, .cancel = cancel, .client = before.client}));
  if (!asking.empty())
    PC_CHECK_OK(scheduler.compute({.timeline = &probe,
                                   .runs = asking,
                                   .cancel = cancel,
                                   .client = before.client,
                                   .weights = weights.data(),
                                   .first_weighted = n_attached}));
  std::vector<Score> all;
  std::size_t at = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!runs[i].resident) continue;
    for (std::uint32_t t = 0; t < runs[i].run->tokens.size(); ++t, ++at)
      if (!runs[i].exact) all.push_back({static_cast<double>(weights[at]), i, t});
  }
  return all;
}

// Of the runs with this repair, the share of their tokens with the largest sizes.
void take_largest(const pml::Repair& repair, std::span<const PlacedRun> runs,
                  std::span<const Score> scores, std::vector<Anew>* anew) {
  std::vector<Score> of;
  for (const Score& score : scores)
    if (runs[score.run].repair == repair) of.push_back(score);
  const std::uint64_t n = selected_tokens(repair.share, of.size());
  std::nth_element(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(n), of.end(),
                   [](const Score& a, const Score& b) {
                     if (a.size != b.size) return a.size > b.size;
                     return a.run != b.run ? a.run < b.run : a.token < b.token;
                   });
  of.resize(n);
  for (const Score& score : of) (*anew)[score.run].push_back(score.token);
}

// The repairs of this kind among runs that are not exact, each once.
std::vector<pml::Repair> repairs_of(pml::Repair::Kind kind, std::span<const PlacedRun> runs) {
  std::vector<pml::Repair> found;
  for (const PlacedRun& run : runs)
    if (!run.exact && run.repair.kind == kind && std::ranges::count(found, run.repair) == 0)
      found.push_back(run.repair);
  return found;
}

// Adds the tokens of repairs of a kind, by scores that `compute` gives of all that is not exact.
template <class Compute>
Status add_found(pml::Repair::Kind kind, std::span<const PlacedRun> runs, Compute compute,
                 std::vector<Anew>* anew) {
  const std::vector<pml::Repair> repairs = repairs_of(kind, runs);
  if (repairs.empty()) return ok();
  PC_TRY(const std::vector<Score> scores, compute());
  if (!std::ranges::all_of(scores, [](const Score& score) { return std::isfinite(score.size); }))
    return error(Code::kNotFinite, "a repair compared numbers that are not finite");
  for (const pml::Repair& repair : repairs) take_largest(repair, runs, scores, anew);
  return ok();
}

// kSelected needs a second layer.
Status check_layers(std::span<const PlacedRun> runs) {
  for (const PlacedRun& run : runs)
    if (!run.exact && run.repair.kind == pml::Repair::Kind::kSelected &&
        run.resident->module().geometry().n_layers() <= kComparedLayer)
      return error(Code::kUnsupported, "repair=\"" + pml::to_string(run.repair) +
                                           "\" compares the second layer's values, "
                                           "and the model has one layer; use leading:N");
  return ok();
}

}  // namespace

bool is_found_out(const pml::Repair& repair) {
  return repair.kind == pml::Repair::Kind::kSelected || repair.kind == pml::Repair::Kind::kAttended;
}

std::vector<Anew> leading_tokens(std::span<const PlacedRun> runs) {
  std::vector<Anew> anew(runs.size());
  // Of each module, which arguments and nested modules may cut into several runs.
  std::map<std::pair<Digest, std::string>, std::uint32_t> left;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const pml::Repair& repair = runs[i].repair;
    if (runs[i].exact || repair.kind != pml::Repair::Kind::kLeading) continue;
    const std::pair key(*runs[i].module, runs[i].run->label);
    if (key.second.empty()) left.erase(key);
    std::uint32_t& more = left.try_emplace(key, repair.n_tokens).first->second;
    anew[i].resize(std::min<std::size_t>(more, runs[i].run->tokens.size()));
    std::iota(anew[i].begin(), anew[i].end(), 0u);
    more -= static_cast<std::uint32_t>(anew[i].size());
  }
  return anew;
}

std::uint64_t n_anew(std::span<const PlacedRun> runs) {
  std::uint64_t n = 0;
  for (const Anew& tokens : leading_tokens(runs)) n += tokens.size();
  for (const auto kind : {pml::Repair::Kind::kSelected, pml::Repair::Kind::kAttended})
    for (const pml::Repair& repair : repairs_of(kind, runs)) {
      std::uint64_t n_tokens = 0;
      for (const PlacedRun& run : runs)
        if (!run.exact && run.repair == repair) n_tokens += run.run->tokens.size();
      n += selected_tokens(repair.share, n_tokens);
    }
  return n;
}

std::uint64_t selected_tokens(double share, std::uint64_t n_tokens) {
  constexpr double kRounding = 1e-9;  // 7 % of 100 are 7
  const double n = std::ceil(share * static_cast<double>(n_tokens) - kRounding);
  return std::min(n_tokens, static_cast<std::uint64_t>(std::max(n, 1.0)));
}

void ScatteredTokens::add(const Anew& anew, const Tokens& tokens, Position position) {
  for (const std::uint32_t token : anew) {
    tokens_.push_back(tokens[token]);
    positions_.push_back(position + static_cast<Position>(token));
  }
}

void ScatteredTokens::move_to(Chain* chain) {
  const std::span<const TokenId> tokens(tokens_);
  const std::span<const Position> positions(positions_);
  for (std::size_t begin = 0; begin < tokens.size();) {
    std::size_t end = begin + 1;
    while (end < tokens.size() && (has_gaps_ || positions[end] == positions[end - 1] + 1)) ++end;
    chain->append_between(tokens.subspan(begin, end - begin),
                          positions.subspan(begin, end - begin));
    begin = end;
  }
  tokens_.clear();
  positions_.clear();
}

Result<std::vector<Anew>> choose_anew(std::span<const PlacedRun> runs, const BeforeRuns& before,
                                      Scheduler& scheduler, const volatile std::int32_t* cancel) {
  using Kind = pml::Repair::Kind;
  PC_EXPECT(std::ranges::none_of(
      runs, [](const PlacedRun& r) { return !r.exact && r.repair.kind == Kind::kAuto; }));
  PC_CHECK_OK(check_layers(runs));
  std::vector<Anew> anew = leading_tokens(runs);
  PC_CHECK_OK(add_found(
      Kind::kAttended, runs, [&] { return attention(runs, before, scheduler, cancel); }, &anew));
  PC_CHECK_OK(add_found(
      Kind::kSelected, runs, [&] { return distances_of(runs, before, scheduler, cancel); }, &anew));
  for (Anew& tokens : anew) std::ranges::sort(tokens);
  return anew;
}

bool is_attached(const pc_model_desc& model, const Anew& anew, std::size_t n_tokens) {
  return anew.size() < n_tokens || n_state_numbers(model) == 0;
}

std::vector<std::uint32_t> hidden_bits(const Anew& anew, std::size_t n_tokens) {
  if (anew.empty()) return {};
  std::vector<std::uint32_t> bits((n_tokens + 31) / 32, 0u);
  for (const std::uint32_t token : anew) bits[token / 32] |= 1u << token % 32;
  return bits;
}

}  // namespace pc
