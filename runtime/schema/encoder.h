// Computes modules: an EncodeJob's causal pass on a timeline whose kept runs lie in a module
// image, in the mapping of the file that is to be, so that their K and V are written once, where
// they will be read. Where modules are stored as another type than is computed (fresh_type()), they
// are packed into the image afterwards.
//
// The encoder keeps the timeline of its last pass. Jobs come in an order in
// which neighbours begin alike (pml/layout/encode_plan.h), and the runs two passes
// share are not computed again: a system text before a thousand documents is
// computed once. What a pass computes does not depend on what was reused,
// beyond rounding. It costs nothing until the first module turns out to be missing.
//
// Borrows the scheduler and the store. Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/mapped_file.h"  // n_lost_mappings
#include "base/status.h"
#include "modules/module_file.h"
#include "modules/module_image.h"
#include "modules/module_key.h"
#include "modules/module_store.h"
#include "pml/layout/encode_plan.h"
#include "runtime/backend/backend_handle.h"
#include "runtime/scheduler/scheduler.h"

namespace pc {

// The identity of a job's module: its positions are counted from the first kept token.
// `base` holds the causes that the job does not say. `relocates`: see Model.
ModuleIdentity identity_of(const pml::EncodeJob& job, const ModuleIdentity& base, bool relocates,
                           const pc_model_desc& model);

// A module, and the draft of a file in which it was made; null: it was made in memory.
struct EncodedModule {
  ModuleHandle module;
  std::shared_ptr<CacheDraft> draft;
};

class Encoder {
 public:
  // store: modules are made in its drafts; null: in memory.
  Encoder(Scheduler& scheduler, ModuleStore* store) : scheduler_(scheduler), store_(store) {}

  // The sealed module of `identity`, which is identity_of(job). `cancel` as in Work.
  // kNotFinite where the backend's states are not: no module comes of them. kIo where a mapped
  // file was lost (guard_mappings), here or since the encoder was made.
  Result<EncodedModule> encode(const pml::EncodeJob& job, const ModuleIdentity& identity,
                               const volatile std::int32_t* cancel);

  // Forgets the last pass. Needed where its draft was given up, since the timeline uses its memory.
  void forget() {
    timeline_.reset();
    held_.clear();
  }

  // Tokens computed so far; what was reused does not count.
  std::uint64_t tokens_computed() const { return tokens_computed_; }

 private:
  class Pass;
  std::uint32_t shared_runs(const pml::EncodeJob& job) const;
  Result<std::uint32_t> keep_runs(std::uint32_t n_runs);
  Status store_runs(const pml::EncodeJob& job, std::uint32_t first_run, std::uint32_t first_token,
                    ModuleImage* image);

  // A run that the timeline of the last pass has; in order.
  struct HeldRun {
    Tokens tokens;
    Position position;
    ModuleHandle module;  // whose planes have it; null: the timeline's own
  };
  Scheduler& scheduler_;
  ModuleStore* store_;
  std::optional<BackendTimeline> timeline_;
  std::vector<HeldRun> held_;
  std::uint64_t tokens_computed_ = 0;
  // n_lost_mappings() when this encoder was made. If it has grown since, states may have been
  // computed from a lost mapping or written into one, and are not used.
  std::uint64_t n_lost_ = n_lost_mappings();
};

}  // namespace pc
