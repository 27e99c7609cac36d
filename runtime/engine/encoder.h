// Computes modules: an EncodeJob's causal pass, and its kept runs copied into
// a module image.
//
// The encoder keeps the states of its last pass. Jobs come in an order in
// which neighbours begin alike (pml/encode_plan.h), and the runs two passes
// share are not computed again: a system text before a thousand documents is
// computed once. What a pass computes does not depend on what was reused,
// beyond rounding.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/status.h"
#include "modules/module_file.h"
#include "modules/module_key.h"
#include "pml/encode_plan.h"
#include "runtime/backend/backend_handle.h"

namespace pc {

// The job as causes of a file: runs counted from the first kept token.
// `base` holds everything that the job does not say. `relocates`: see Model.
ModuleIdentity identity_of(const pml::EncodeJob& job, const ModuleIdentity& base, bool relocates);

// Tokens of the whole pass.
std::uint32_t pass_tokens(const pml::EncodeJob& job);

class Encoder {
 public:
  // Large enough for every one of `jobs`, which are the only ones to come.
  static Result<Encoder> open(const BackendModel& model,
                              const std::vector<const pml::EncodeJob*>& jobs);

  // The sealed module of `identity`, which is identity_of(job). `cancel` as in forward().
  // kNotFinite where the backend's states are not: no module comes of them.
  Result<ModuleHandle> encode(const pml::EncodeJob& job, const ModuleIdentity& identity,
                              const volatile std::int32_t* cancel);

  // Tokens computed so far; what was reused does not count.
  std::uint64_t tokens_computed() const { return tokens_computed_; }

 private:
  explicit Encoder(BackendSession session) : session_(std::move(session)) {}
  std::uint32_t shared_runs(const pml::EncodeJob& job, const std::vector<pc_run>& runs) const;

  // A run that the session's tail holds, in order.
  struct HeldRun {
    Tokens tokens;
    Position position, key_position;
  };
  BackendSession session_;
  std::vector<HeldRun> held_;
  std::uint64_t tokens_computed_ = 0;
};

// An encoder that is opened when the first module turns out to be missing:
// a prompt whose modules are all there pays nothing. Borrows model and jobs.
class LazyEncoder {
 public:
  LazyEncoder(const BackendModel& model, std::vector<const pml::EncodeJob*> jobs)
      : model_(model), jobs_(std::move(jobs)) {}
  Result<Encoder*> get() {
    if (!encoder_) {
      PC_TRY(encoder_, Encoder::open(model_, jobs_));
    }
    return &*encoder_;
  }

 private:
  const BackendModel& model_;
  std::vector<const pml::EncodeJob*> jobs_;
  std::optional<Encoder> encoder_;
};

}  // namespace pc
