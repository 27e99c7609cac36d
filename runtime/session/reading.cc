#include "runtime/session/reading.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "runtime/prompt/link_search.h"
#include "runtime/scheduler/log.h"
#include "runtime/schema/encoder.h"

namespace pc {
namespace {

Tokens tokens_of(const pml::Plan& plan) {
  Tokens tokens;
  for (const pml::PlanRun& run : plan.runs)
    tokens.insert(tokens.end(), run.tokens.begin(), run.tokens.end());
  return tokens;
}

// The position from which on tokens are computed, for their logits; none where no logits but the
// last are wanted.
std::optional<Position> first_row_wanted(const pml::Plan& plan,
                                         const std::optional<PromptScoring>& scoring) {
  if (!scoring) return std::nullopt;
  std::size_t left = scoring->first_scored() - 1;
  for (const pml::PlanRun& run : plan.runs) {
    if (left < run.tokens.size()) return run.position + static_cast<Position>(left);
    left -= run.tokens.size();
  }
  return std::nullopt;
}

// One prompt on its way onto one timeline.
class Attaching {
 public:
  Attaching(const LoadedPrompt& prompt, const Reader& reader, BackendTimeline timeline)
      : prompt_(prompt),
        engine_(prompt.schema->engine()),
        reader_(reader),
        stats_(*reader.stats),
        timeline_(std::move(timeline)),
        first_row_wanted_(first_row_wanted(prompt.plan, reader.options.scoring)),
        reuse_(may_reuse_modules()),
        encoded_(prompt.modules.size()),
        anew_(prompt.plan.runs.size()) {}

  // Of each run, the tokens of modules that are computed all the same are chosen as well.
  Status find_modules();
  Status attach_all();
  Reading reading() &&;

 private:
  bool may_reuse_modules() const;
  Status pin_modules();
  Status choose_anew(std::vector<PlacedRun> runs);
  Status attach_modules();
  Status attach_links(FoundChain* found);

  const LoadedPrompt& prompt_;
  const Engine& engine_;
  const Reader& reader_;
  ReadStats& stats_;
  BackendTimeline timeline_;
  const std::optional<Position> first_row_wanted_;
  const bool reuse_;           // modules are used
  std::vector<bool> encoded_;  // [prompt_.modules] for this reading
  std::vector<Anew> anew_;     // [plan.runs]
  std::optional<Chain> chain_;
  std::uint64_t n_module_tokens_ = 0;
};

bool Attaching::may_reuse_modules() const {
  return !reader_.options.no_reuse &&
         std::ranges::none_of(prompt_.plan.runs, [&](const pml::PlanRun& run) {
           const auto end = run.position + static_cast<Position>(run.tokens.size());
           return run.kind == pml::RunKind::kCached && first_row_wanted_ &&
                  end > *first_row_wanted_;
         });
}

Status Attaching::find_modules() {
  if (!reuse_) return ok();
  const std::optional<pml::Repair>& asked = reader_.options.repair;
  if (engine_.model().is_recurrent() && asked && asked->is_partial())
    return error(Code::kUnsupported,
                 "repair: with this model, whose layers carry states, a module's tokens are "
                 "computed anew all or not at all; ask for \"all\" or none, or encode the modules "
                 "together");
  const Stopwatch watch;
  std::vector<PlacedRun> runs;
  if (reader_.repairs->any(prompt_)) runs = prompt_.placed_runs();
  PC_CHECK_OK(reader_.repairs->put(prompt_, runs));
  PC_CHECK_OK(pin_modules());
  stats_.lookup_us = watch.microseconds() - stats_.encode_us;
  const Stopwatch choose_watch;
  PC_CHECK_OK(choose_anew(std::move(runs)));
  stats_.prefill_us = choose_watch.microseconds();
  return ok();
}

// Every module that the plan uses, found or encoded.
Status Attaching::pin_modules() {
  Encoder encoder(engine_.scheduler(), engine_.store());
  reader_.modules->resize(prompt_.modules.size());
  for (std::size_t i = 0; i < prompt_.modules.size(); ++i) {
    const Stopwatch watch;
    PC_TRY(AcquiredModule module,
           prompt_.schema->acquire(*prompt_.modules[i], encoder, reader_.cancel));
    PC_TRY((*reader_.modules)[i], engine_.backend().resident(std::move(module.module)));
    ++stats_.modules_found;
    encoded_[i] = module.source == ModuleSource::kEncoded;
    if (encoded_[i]) {
      ++stats_.modules_encoded;
      stats_.encode_us += watch.microseconds();
    }
  }
  return ok();
}

Status Attaching::choose_anew(std::vector<PlacedRun> runs) {
  if (runs.empty()) return ok();
  for (PlacedRun& placed : runs)
    if (placed.module) placed.resident = (*reader_.modules)[placed.run->job];
  PC_TRY(anew_,
         pc::choose_anew(runs, {timeline_, reader_.client}, engine_.scheduler(), reader_.cancel));
  return ok();
}

// Runs of modules where they lie, and links that another conversation kept.
Status Attaching::attach_all() {
  if (reader_.options.no_reuse) {
    chain_ = prompt_.chain(reuse_, anew_);
    return ok();
  }
  const Stopwatch watch;
  if (reuse_) PC_CHECK_OK(attach_modules());
  const Position end = first_row_wanted_.value_or(prompt_.plan.end);
  FoundChain found = find_links(prompt_, {reuse_, anew_, end, reader_.options.moves});
  PC_CHECK_OK(attach_links(&found));
  chain_ = std::move(found.chain);
  stats_.lookup_us += watch.microseconds();
  return ok();
}

Status Attaching::attach_modules() {
  for (std::size_t i = 0; i < anew_.size(); ++i) {
    const pml::PlanRun& run = prompt_.plan.runs[i];
    if (run.kind != pml::RunKind::kCached) continue;
    const ResidentHandle& resident = (*reader_.modules)[run.job];
    // Fewer than the file's tokens where the last one is fresh.
    const auto n = static_cast<std::uint32_t>(run.tokens.size());
    const std::vector<std::uint32_t> hidden = hidden_bits(anew_[i], n);
    if (is_attached(engine_.model().desc, anew_[i], n)) {
      PC_CHECK_OK(timeline_.attach(
          resident, {run.job_run, 0, n, run.position, hidden.empty() ? nullptr : hidden.data()}));
      stats_.cached_bytes += engine_.attached_bytes(n);
    }
    n_module_tokens_ += n - anew_[i].size();
    if (encoded_[run.job]) stats_.encoded_tokens += n - anew_[i].size();
    stats_.repaired_tokens += anew_[i].size();
  }
  stats_.cached_tokens = n_module_tokens_;
  return ok();
}

Status Attaching::attach_links(FoundChain* found) {
  for (std::size_t i = 0; i < found->lookups.size(); ++i) {
    Lookup& lookup = found->lookups[i];
    if (!lookup && lookup.miss != MissReason::kNone && lookup.miss != MissReason::kNotEncoded)
      log(LogLevel::kWarning, "what was kept of a conversation is not used: " + lookup.why);
    if (!lookup) continue;
    const Chain::Link& link = found->chain.links()[i];
    PC_TRY(const ResidentHandle resident, engine_.backend().resident(std::move(lookup.module)));
    const auto n = static_cast<std::uint32_t>(link.tokens.size());
    PC_CHECK_OK(timeline_.attach(resident, {0, link.first, n, link.position, nullptr}));
    stats_.chained_tokens += n;
    stats_.cached_bytes += resident->module().geometry().state_bytes(kv_blocks(n)) +
                           resident->module().recurrent().size_bytes();
  }
  stats_.cached_tokens += stats_.chained_tokens;
  stats_.moved_tokens = found->chain.n_moved();
  return ok();
}

Reading Attaching::reading() && {
  Reading reading{std::move(timeline_), std::move(*chain_)};
  reading.n_module_tokens = n_module_tokens_;
  reading.chain.add_missing(&reading.runs);
  for (const pc_run& run : reading.runs) stats_.computed_tokens += run.n_tokens;
  stats_.prompt_tokens = stats_.cached_tokens + stats_.computed_tokens;
  if (reader_.options.scoring)
    reading.scores =
        std::make_shared<PromptScores>(tokens_of(prompt_.plan), *reader_.options.scoring,
                                       stats_.computed_tokens, engine_.model().desc.vocab_size);
  return reading;
}

}  // namespace

Result<Reading> read_prompt(const LoadedPrompt& prompt, const Reader& reader) {
  *reader.stats = {};
  reader.stats->plan_us = prompt.plan_us;
  PC_TRY(BackendTimeline timeline, prompt.schema->engine().backend().timeline());
  Attaching attaching(prompt, reader, std::move(timeline));
  PC_CHECK_OK(attaching.find_modules());
  PC_CHECK_OK(attaching.attach_all());
  return std::move(attaching).reading();
}

Result<Reading> read_again(const Engine& engine, const Chain& chain) {
  PC_TRY(BackendTimeline timeline, engine.backend().timeline());
  Reading reading{std::move(timeline), chain};
  reading.chain.add_missing(&reading.runs);
  return reading;
}

}  // namespace pc
