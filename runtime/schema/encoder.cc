#include "runtime/schema/encoder.h"

#include <utility>

#include "runtime/schema/finite_states.h"

namespace pc {
namespace {

Position base_position(const pml::EncodeJob& job) {
  for (const pml::JobRun& run : job.runs) {
    if (run.keep) return run.position;
  }
  return 0;
}

}  // namespace

ModuleIdentity identity_of(const pml::EncodeJob& job, const ModuleIdentity& base, bool relocates) {
  ModuleIdentity identity = base;
  // A scaffold's pass is its own kind of attention: three modes, with or without.
  identity.attend = static_cast<std::uint32_t>(job.attend) + (job.scaffold ? 16u : 0u);
  identity.origin = relocates ? 0 : base_position(job);
  identity.runs.clear();
  for (const pml::JobRun& run : job.runs) {
    identity.runs.push_back({run.tokens, run.position - base_position(job), run.keep});
  }
  return identity;
}

Result<EncodedModule> Encoder::encode(const pml::EncodeJob& job, const ModuleIdentity& identity,
                                      const volatile std::int32_t* cancel) {
  const std::uint32_t shared = shared_runs(job);
  PC_CHECK_OK(keep_runs(shared));
  std::shared_ptr<CacheDraft> draft;
  if (store_) draft = store_->draft(stored_size(identity).bytes);
  PC_TRY(ModuleImage image, ModuleImage::create(identity, draft));

  // States that are computed as they are stored are written where they will be read.
  const bool in_place = fresh_type(identity.geometry.type()) == identity.geometry.type();
  std::uint32_t n_before = 0;  // tokens of the timeline
  for (const HeldRun& run : held_) n_before += static_cast<std::uint32_t>(run.tokens.size());
  std::vector<pc_run> runs;
  std::vector<pc_kv_planes> planes;
  planes.reserve(job.runs.size());  // runs point into it
  std::uint32_t n_kept = 0;
  for (std::uint32_t i = shared; i < job.runs.size(); ++i) {
    const pml::JobRun& run = job.runs[i];
    pc_run fresh{run.tokens.data(),
                 static_cast<std::uint32_t>(run.tokens.size()),
                 run.position,
                 run.position - base_position(job),
                 0,
                 nullptr,
                 nullptr,
                 0};
    if (run.keep && in_place) {
      const KvPlanes p = image.planes(n_kept++);
      planes.push_back({p.data, p.plane_blocks, p.first_block});
      fresh.planes = &planes.back();
    }
    runs.push_back(fresh);
  }
  PC_CHECK_OK(scheduler_.compute(
      {.timeline = &*timeline_, .runs = runs, .cancel = cancel, .encodes = true}));
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

// Forgets all runs but the first.
Status Encoder::keep_runs(std::uint32_t n_runs) {
  if (!timeline_) {
    PC_TRY(timeline_, scheduler_.model().timeline());
  }
  std::size_t n_tokens = 0;
  for (std::uint32_t i = 0; i < n_runs; ++i) n_tokens += held_[i].tokens.size();
  PC_CHECK_OK(timeline_->rewind(static_cast<std::uint32_t>(n_tokens), 0));
  held_.resize(n_runs);
  return ok();
}

}  // namespace pc
