#include "runtime/engine/encoder.h"

#include <algorithm>

#include "runtime/engine/finite_states.h"

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

std::uint32_t pass_tokens(const pml::EncodeJob& job) {
  std::size_t n = 0;
  for (const pml::JobRun& run : job.runs) n += run.tokens.size();
  return static_cast<std::uint32_t>(n);
}

Result<Encoder> Encoder::open(const BackendModel& model,
                              const std::vector<const pml::EncodeJob*>& jobs) {
  std::uint32_t tokens = 0, runs = 0;
  for (const pml::EncodeJob* job : jobs) {
    tokens = std::max(tokens, pass_tokens(*job));
    runs = std::max(runs, static_cast<std::uint32_t>(job->runs.size()));
  }
  PC_TRY(BackendSession session, model.session(tokens, runs, 0));
  return Encoder(std::move(session));
}

Result<ModuleHandle> Encoder::encode(const pml::EncodeJob& job, const ModuleIdentity& identity,
                                     const volatile std::int32_t* cancel) {
  std::vector<pc_run> runs;
  const Position base = base_position(job);
  for (const pml::JobRun& run : job.runs) {
    runs.push_back({run.tokens.data(), static_cast<std::uint32_t>(run.tokens.size()), run.position,
                    run.position - base, 0});
  }
  const std::uint32_t shared = shared_runs(job, runs);
  held_.resize(shared);
  PC_CHECK_OK(session_.rewind(shared));
  if (shared < runs.size()) {
    PC_CHECK_OK(session_.forward(std::span(runs).subspan(shared), cancel, nullptr));
  }
  for (std::uint32_t i = shared; i < runs.size(); ++i) {
    held_.push_back({job.runs[i].tokens, runs[i].position, runs[i].key_position});
    tokens_computed_ += runs[i].n_tokens;
  }

  PC_TRY(ModuleImage image, ModuleImage::create(identity));
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < job.runs.size(); ++i) {
    if (job.runs[i].keep) PC_CHECK_OK(session_.read_segment(i, image.planes(kept++)));
  }
  PC_TRY(ModuleHandle module, std::move(image).seal());
  PC_CHECK_OK(check_finite(*module, session_.backend_name()));
  return module;
}

// How many of the first runs the last pass left in the tail as they are
// needed: the same tokens at the same positions, after the same beginning.
// Where a run's keys are rotated matters only if they are kept: attention
// reads any segment through its own offset.
std::uint32_t Encoder::shared_runs(const pml::EncodeJob& job,
                                   const std::vector<pc_run>& runs) const {
  std::uint32_t n = 0;
  while (n < runs.size() && n < held_.size()) {
    const HeldRun& held = held_[n];
    const bool rotated_alike = held.key_position == runs[n].key_position || !job.runs[n].keep;
    if (held.position != runs[n].position || !rotated_alike || held.tokens != job.runs[n].tokens)
      break;
    ++n;
  }
  return n;
}

}  // namespace pc
