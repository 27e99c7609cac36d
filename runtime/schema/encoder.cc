#include "runtime/schema/encoder.h"

#include <limits>
#include <span>
#include <utility>

#include "runtime/backend/state_map.h"
#include "runtime/schema/finite_states.h"

namespace pc {
namespace {

// Stands for more, too, which are refused.
constexpr std::uint32_t kMostNumbers = std::numeric_limits<std::uint32_t>::max();

std::uint32_t n_tokens_of(const pml::JobRun& run) {
  return static_cast<std::uint32_t>(run.tokens.size());
}

Position base_position(const pml::EncodeJob& job) {
  for (const pml::JobRun& run : job.runs) {
    if (run.keep) return run.position;
  }
  return 0;
}

}  // namespace

ModuleIdentity identity_of(const pml::EncodeJob& job, const ModuleIdentity& base, bool relocates,
                           const pc_model_desc& model) {
  ModuleIdentity identity = base;
  // A scaffold's pass is its own kind of attention: three modes, with or without.
  identity.attend = static_cast<std::uint32_t>(job.attend) + (job.scaffold ? 16u : 0u);
  identity.origin = relocates ? 0 : base_position(job);
  identity.runs.clear();
  std::size_t n_recurrent = 0;
  for (const pml::JobRun& run : job.runs) {
    identity.runs.push_back({run.tokens, run.position - base_position(job), run.keep});
    if (run.keep) n_recurrent += StateMapShape(model, n_tokens_of(run)).n_numbers();
  }
  identity.n_recurrent =
      n_recurrent > kMostNumbers ? kMostNumbers : static_cast<std::uint32_t>(n_recurrent);
  return identity;
}

// The runs of a pass from `first` on, those that are kept with places in the image of the module.
class Encoder::Pass {
 public:
  // in_place: keys and values are written there as they are computed.
  Pass(const pml::EncodeJob& job, std::uint32_t first, bool in_place, const pc_model_desc& model,
       ModuleImage* image) {
    planes_.reserve(job.runs.size());  // runs point into both
    maps_.reserve(job.runs.size());
    std::span<float> numbers = image->recurrent();
    for (std::uint32_t i = first; i < job.runs.size(); ++i) {
      const pml::JobRun& run = job.runs[i];
      const Position key_position = run.position - base_position(job);
      pc_run fresh{run.tokens.data(), n_tokens_of(run), run.position, key_position, 0,
                   nullptr,           nullptr,          !run.keep,    nullptr};
      if (run.keep && in_place) {
        const KvPlanes p = image->planes(static_cast<std::uint32_t>(planes_.size()));
        planes_.push_back({p.data, p.plane_blocks, p.first_block});
        fresh.planes = &planes_.back();
      }
      if (run.keep && !numbers.empty()) {
        maps_.push_back({numbers.data(), fresh.n_tokens});
        fresh.state_map = &maps_.back();
        numbers = numbers.subspan(StateMapShape(model, fresh.n_tokens).n_numbers());
      }
      runs_.push_back(fresh);
    }
  }

  std::span<const pc_run> runs() const { return runs_; }

 private:
  std::vector<pc_run> runs_;
  std::vector<pc_kv_planes> planes_;
  std::vector<pc_state_map> maps_;
};

Result<EncodedModule> Encoder::encode(const pml::EncodeJob& job, const ModuleIdentity& identity,
                                      const volatile std::int32_t* cancel) {
  if (identity.n_recurrent == kMostNumbers)
    return error(Code::kUnsupported, "what \"" + job.name +
                                         "\" makes of the states of the model's recurrent layers "
                                         "is more than a file of a module can have: divide it");
  PC_TRY(const std::uint32_t shared, keep_runs(shared_runs(job)));
  std::shared_ptr<CacheDraft> draft;
  if (store_) draft = store_->draft(stored_size(identity).bytes);
  PC_TRY(ModuleImage image, ModuleImage::create(identity, draft));

  // States that are computed as they are stored are written where they will be read.
  const bool in_place = fresh_type(identity.geometry.type()) == identity.geometry.type();
  std::uint32_t n_before = 0;  // tokens of the timeline
  for (const HeldRun& run : held_) n_before += static_cast<std::uint32_t>(run.tokens.size());
  const Pass pass(job, shared, in_place, scheduler_.model().desc(), &image);
  PC_CHECK_OK(scheduler_.compute(
      {.timeline = &*timeline_, .runs = pass.runs(), .cancel = cancel, .encodes = true}));
  if (!in_place) PC_CHECK_OK(store_runs(job, shared, n_before, &image));
  auto sealed = std::move(image).seal();
  if (n_lost_mappings() != n_lost_)
    return error(Code::kIo,
                 "the system lost a mapped file while a module was encoded: is the disk "
                 "sound?");
  PC_TRY(ModuleHandle module, std::move(sealed));
  for (std::uint32_t i = shared; i < job.runs.size(); ++i) {
    const pml::JobRun& run = job.runs[i];
    held_.push_back({run.tokens, run.position, run.keep && in_place ? module : nullptr});
    tokens_computed_ += run.tokens.size();
  }
  PC_CHECK_OK(check_finite(*module, scheduler_.model().name()));
  return EncodedModule{module, std::move(draft)};
}

// How many of the first runs the last pass left in the timeline as they are needed: the same
// tokens at the same positions, after the same beginning. Where their keys are rotated does not
// matter, since attention reads any segment through its own offset; but a run that is to be kept
// is to lie in this module's image.
std::uint32_t Encoder::shared_runs(const pml::EncodeJob& job) const {
  std::uint32_t n = 0;
  while (n < job.runs.size() && n < held_.size()) {
    const pml::JobRun& run = job.runs[n];
    if (run.keep || held_[n].position != run.position || held_[n].tokens != run.tokens) break;
    ++n;
  }
  return n;
}

// Packs the job's kept runs from `first_run` on, whose tokens are the timeline's from `first_token`
// on, into the image.
Status Encoder::store_runs(const pml::EncodeJob& job, std::uint32_t first_run,
                           std::uint32_t first_token, ModuleImage* image) {
  std::uint32_t n_kept = 0;
  for (std::uint32_t i = first_run; i < job.runs.size(); ++i) {
    const auto n_tokens = static_cast<std::uint32_t>(job.runs[i].tokens.size());
    if (job.runs[i].keep)
      PC_CHECK_OK(timeline_->read(first_token, n_tokens, image->planes(n_kept++)));
    first_token += n_tokens;
  }
  return ok();
}

// Forgets all runs but the first n_runs, or fewer where layers carry states that are not kept of
// that place; how many are left.
Result<std::uint32_t> Encoder::keep_runs(std::uint32_t n_runs) {
  if (!timeline_) {
    PC_TRY(timeline_, scheduler_.model().timeline());
  }
  for (std::size_t n_left = SIZE_MAX;; --n_runs) {
    std::size_t n_tokens = 0;
    for (std::uint32_t i = 0; i < n_runs; ++i) n_tokens += held_[i].tokens.size();
    if (n_tokens > n_left) continue;
    PC_CHECK_OK(timeline_->rewind(static_cast<std::uint32_t>(n_tokens), 0));
    n_left = timeline_->n_tokens();
    if (n_left == n_tokens) break;
  }
  held_.resize(n_runs);
  return n_runs;
}

}  // namespace pc
