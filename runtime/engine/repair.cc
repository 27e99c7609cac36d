#include "runtime/engine/repair.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>

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
  float size;
  std::size_t run;
  std::uint32_t token;
};

// Computes the compared layer's states of what is not exact, with what stands before it in place.
Result<std::vector<Score>> distances_of(std::span<const PlacedRun> runs, const BeforeRuns& before,
                                        Scheduler& scheduler, const volatile std::int32_t* cancel) {
  PC_TRY(BackendTimeline probe, before.timeline.fork());
  std::vector<pc_run> computed(before.unread.begin(), before.unread.end());
  std::size_t n_runs = 0;  // up to the last that is not exact
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (!runs[i].exact) n_runs = i + 1;
  for (const PlacedRun& r : runs.first(n_runs)) {
    const auto n = static_cast<std::uint32_t>(r.run->tokens.size());
    if (r.resident && r.exact)
      PC_CHECK_OK(probe.attach(r.resident, {r.run->job_run, 0, n, r.position, nullptr}));
    else
      computed.push_back({r.run->tokens.data(), n, r.position, r.position, 1, nullptr, nullptr});
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
// states as they are.
Result<std::vector<Score>> attention(std::span<const PlacedRun> runs, const BeforeRuns& before,
                                     Scheduler& scheduler, const volatile std::int32_t* cancel) {
  PC_TRY(BackendTimeline probe, before.timeline.fork());
  const std::uint32_t n_attached = probe.n_attached();
  std::vector<pc_run> fresh(before.unread.begin(), before.unread.end());
  std::size_t n_weights = 0;
  for (const PlacedRun& r : runs) {
    const auto n = static_cast<std::uint32_t>(r.run->tokens.size());
    if (!r.resident) {
      fresh.push_back({r.run->tokens.data(), n, r.position, r.position, 1, nullptr, nullptr});
      continue;
    }
    PC_CHECK_OK(probe.attach(r.resident, {r.run->job_run, 0, n, r.position, nullptr}));
    n_weights += n;
  }
  std::vector<float> weights(n_weights);
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
      if (!runs[i].exact) all.push_back({weights[at], i, t});
  }
  return all;
}

Result<std::vector<Anew>> largest(std::vector<Score> all, double share, std::size_t n_runs) {
  if (!std::ranges::all_of(all, [](const Score& score) { return std::isfinite(score.size); }))
    return error(Code::kNotFinite, "a repair compared numbers that are not finite");
  const std::uint64_t n = selected_tokens(share, all.size());
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n), all.end(),
                   [](const Score& a, const Score& b) {
                     if (a.size != b.size) return a.size > b.size;
                     return a.run != b.run ? a.run < b.run : a.token < b.token;
                   });
  all.resize(n);
  std::vector<Anew> anew(n_runs);
  for (const Score& d : all) anew[d.run].push_back(d.token);
  for (Anew& tokens : anew) std::ranges::sort(tokens);
  return anew;
}

}  // namespace

std::vector<Anew> leading_tokens(std::span<const PlacedRun> runs, std::uint32_t n_tokens) {
  std::vector<Anew> anew(runs.size());
  // Of each module, which arguments and nested modules may cut into several runs.
  std::map<std::pair<Digest, std::string>, std::uint32_t> left;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].exact) continue;
    const std::pair key(*runs[i].module, runs[i].run->label);
    if (key.second.empty()) left.erase(key);
    std::uint32_t& more = left.try_emplace(key, n_tokens).first->second;
    anew[i].resize(std::min<std::size_t>(more, runs[i].run->tokens.size()));
    std::iota(anew[i].begin(), anew[i].end(), 0u);
    more -= static_cast<std::uint32_t>(anew[i].size());
  }
  return anew;
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

Result<std::vector<Anew>> choose_anew(const pml::Repair& repair, std::span<const PlacedRun> runs,
                                      const BeforeRuns& before, Scheduler& scheduler,
                                      const volatile std::int32_t* cancel) {
  const bool all_exact = std::ranges::all_of(runs, &PlacedRun::exact);
  if (all_exact || repair.kind == pml::Repair::Kind::kNone) return std::vector<Anew>(runs.size());
  if (repair.kind == pml::Repair::Kind::kLeading) return leading_tokens(runs, repair.n_tokens);
  if (repair.kind == pml::Repair::Kind::kAttended) {
    PC_TRY(std::vector<Score> all, attention(runs, before, scheduler, cancel));
    return largest(std::move(all), repair.share, runs.size());
  }
  const auto reused = std::ranges::find(runs, false, &PlacedRun::exact);
  if (reused->resident->module().geometry().n_layers <= kComparedLayer)
    return error(Code::kUnsupported, "repair=\"" + pml::to_string(repair) +
                                         "\" compares the second layer's values, "
                                         "and the model has one layer; use leading:N");
  PC_TRY(std::vector<Score> all, distances_of(runs, before, scheduler, cancel));
  return largest(std::move(all), repair.share, runs.size());
}

std::vector<std::uint32_t> hidden_bits(const Anew& anew, std::size_t n_tokens) {
  if (anew.empty()) return {};
  std::vector<std::uint32_t> bits((n_tokens + 31) / 32, 0u);
  for (const std::uint32_t token : anew) bits[token / 32] |= 1u << token % 32;
  return bits;
}

}  // namespace pc
