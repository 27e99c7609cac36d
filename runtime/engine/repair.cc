#include "runtime/engine/repair.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace pc {
namespace {

// The layer whose values are compared. Those of the first follow from the tokens alone; the
// second's are the first that have seen others.
constexpr std::uint32_t kComparedLayer = 1;

// A token of a run, and how far its states are from those that a prefill would give.
struct Deviation {
  float distance;
  std::size_t run;
  std::uint32_t token;
};

// Computes the compared layer's states of what is not exact, with what stands before it in place.
Result<std::vector<Deviation>> deviations(std::span<const PlacedRun> runs, const BeforeRuns& before,
                                          Scheduler& scheduler,
                                          const volatile std::int32_t* cancel) {
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
  PC_CHECK_OK(scheduler.compute(
      {.timeline = &probe, .runs = computed, .cancel = cancel, .n_layers = kComparedLayer + 1}));
  std::vector<Deviation> all;
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

std::vector<Anew> farthest(std::vector<Deviation> all, double share, std::size_t n_runs) {
  const std::uint64_t n = selected_tokens(share, all.size());
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n), all.end(),
                   [](const Deviation& a, const Deviation& b) {
                     if (a.distance != b.distance) return a.distance > b.distance;
                     return a.run != b.run ? a.run < b.run : a.token < b.token;
                   });
  all.resize(n);
  std::vector<Anew> anew(n_runs);
  for (const Deviation& d : all) anew[d.run].push_back(d.token);
  for (Anew& tokens : anew) std::ranges::sort(tokens);
  return anew;
}

}  // namespace

std::vector<Anew> leading_tokens(std::span<const PlacedRun> runs, std::uint32_t n_tokens) {
  std::vector<Anew> anew(runs.size());
  std::map<Digest, std::uint32_t> left;  // of each module, whose runs follow each other
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].exact) continue;
    std::uint32_t& more = left.try_emplace(*runs[i].module, n_tokens).first->second;
    anew[i].resize(std::min<std::size_t>(more, runs[i].run->tokens.size()));
    std::iota(anew[i].begin(), anew[i].end(), 0u);
    more -= static_cast<std::uint32_t>(anew[i].size());
  }
  return anew;
}

std::uint64_t selected_tokens(double share, std::uint64_t n_tokens) {
  const double n = std::ceil(share * static_cast<double>(n_tokens));
  return std::min(n_tokens, static_cast<std::uint64_t>(n));
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
  const auto reused = std::ranges::find(runs, false, &PlacedRun::exact);
  if (reused->resident->module().geometry().n_layers <= kComparedLayer)
    return error(Code::kUnsupported, "repair=\"" + pml::to_string(repair) +
                                         "\" compares the second layer's values, "
                                         "and the model has one layer; use leading:N");
  PC_TRY(std::vector<Deviation> all, deviations(runs, before, scheduler, cancel));
  return farthest(std::move(all), repair.share, runs.size());
}

std::vector<std::uint32_t> hidden_bits(const Anew& anew, std::size_t n_tokens) {
  if (anew.empty()) return {};
  std::vector<std::uint32_t> bits((n_tokens + 31) / 32, 0u);
  for (const std::uint32_t token : anew) bits[token / 32] |= 1u << token % 32;
  return bits;
}

}  // namespace pc
