// Owners of what a backend made: a model on it, modules as it holds them, and timelines.
//
// Thin: every call is one call of the C table with its error turned into a
// Result. Nothing that a backend computed is believed to be finite: step() looks
// at the logits, and Encoder at the states of modules. Threads: as in runtime/backend/backend.h;
// a model outlives its residents and timelines.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "modules/kv.h"
#include "modules/module_file.h"
#include "runtime/backend/backend.h"
#include "runtime/backend/precision.h"

namespace pc {

namespace simd {
struct Kernels;
}

// A module as a backend holds it: the CPU uses it where it lies, a device has a copy. Pins the
// module.
class Resident {
 public:
  const ModuleFile& module() const { return *module_; }
  const ModuleHandle& handle() const { return module_; }

  // Tells the backend that this module will be attached soon; returns at once.
  void prefetch() const { resident_.get_deleter().table->resident_prefetch(resident_.get()); }

 private:
  friend class BackendModel;
  friend class BackendTimeline;
  struct Release {
    const pc_backend_v1* table;
    void operator()(pc_backend_resident* resident) const { table->resident_release(resident); }
  };
  using Owner = std::unique_ptr<pc_backend_resident, Release>;
  Resident(ModuleHandle module, Owner resident)
      : module_(std::move(module)), resident_(std::move(resident)) {}

  ModuleHandle module_;
  Owner resident_;
};
using ResidentHandle = std::shared_ptr<const Resident>;

// Tokens of a kept run of a module, as a timeline has them (pc_attachment).
struct AttachedTokens {
  std::uint32_t segment, first, n_tokens;
  std::int32_t position;  // of the first
  bool hides;             // some of them are not seen
};

// What one conversation has seen. Pins what is attached to it.
class BackendTimeline {
 public:
  // Attaches a kept run of a module (pc_attachment::segment), or tokens of it.
  Status attach(ResidentHandle resident, const pc_attachment& attachment);

  // In one layer: how far the values of the computed tokens from `first` on are from the values of
  // the first distances.size() tokens of the module's kept run `run` (timeline_compare).
  Status compare(std::uint32_t first, const Resident& resident, std::uint32_t run,
                 std::uint32_t layer, std::span<float> distances) const;

  // Keeps the first n_tokens computed tokens and the first n_attached attachments; forgets the
  // rest, and more tokens where layers carry states that were not kept of that place: n_tokens()
  // says how many are left.
  Status rewind(std::uint32_t n_tokens, std::uint32_t n_attached);

  // Another timeline that has seen the same. The two share the memory of what they have in common.
  Result<BackendTimeline> fork() const;

  // Copies the states of n_tokens computed tokens, from `first` on. The first of them must have
  // begun a run that did not continue another one.
  Status read(std::uint32_t first, std::uint32_t n_tokens, const KvPlanes& planes) const;

  // The n numbers of recurrent layers' states behind the first n_tokens computed tokens and all
  // that is attached in front of them; {} where they are not kept of that place. Until the timeline
  // is used again.
  Result<std::span<const float>> recurrent(std::uint32_t n_tokens, std::size_t n) const;

  std::uint32_t n_tokens() const { return n_tokens_; }  // computed ones
  std::uint32_t n_attached() const { return static_cast<std::uint32_t>(residents_.size()); }
  std::span<const ResidentHandle> residents() const { return residents_; }  // of what is attached
  std::span<const AttachedTokens> attached() const { return attached_; }    // [n_attached]

  pc_backend_timeline* get() const { return timeline_.get(); }
  // To be told after a step: it computed n_tokens more of this timeline.
  void count(std::uint32_t n_tokens) { n_tokens_ += n_tokens; }

 private:
  friend class BackendModel;
  struct Close {
    const pc_backend_v1* table;
    void operator()(pc_backend_timeline* timeline) const { table->timeline_close(timeline); }
  };
  BackendTimeline(const pc_backend_v1* table, pc_backend_timeline* timeline)
      : timeline_(timeline, Close{table}) {}
  const pc_backend_v1* table() const { return timeline_.get_deleter().table; }

  std::vector<ResidentHandle> residents_;  // [n_attached]; declared first: they go last
  std::vector<AttachedTokens> attached_;   // [n_attached]
  std::unique_ptr<pc_backend_timeline, Close> timeline_;
  std::uint32_t n_tokens_ = 0;
};

class BackendModel {
 public:
  // `desc` is borrowed for the model's life. n_threads: 0 = as many as allowed.
  // pack: null = none; borrowed for the call.
  static Result<BackendModel> open(const pc_backend_v1* table, const pc_model_desc& desc,
                                   KvType type, Precision precision, std::uint32_t n_threads,
                                   const pc_pack_options* pack);

  Result<ResidentHandle> resident(ModuleHandle module) const;
  Result<BackendTimeline> timeline() const;

  // Computes a step of these items (pc_step_item); status_of() tells what became of each. One step
  // at a time. Allocates nothing itself. An item whose logits are not finite has kNotFinite, naming
  // the backend.
  void step(std::span<pc_step_item> items) const;
  Status status_of(const pc_step_item& item) const;
  // What the backend remarks about an item that it computed; "" if nothing.
  static std::string remark_of(const pc_step_item& item);

  const pc_model_desc& desc() const { return *desc_; }
  const char* name() const { return table()->name; }
  std::uint32_t numerics_version() const { return table()->numerics_version; }
  std::uint32_t step_tokens() const { return table()->step_tokens; }
  bool hands_out_rows() const { return table()->hands_out_rows != 0; }

  // Why this backend is slower here than it could be; "" if it is not.
  const std::string& remark() const { return remark_; }

 private:
  struct Close {
    const pc_backend_v1* table;
    void operator()(pc_backend_model* model) const { table->model_close(model); }
  };
  using Owner = std::unique_ptr<pc_backend_model, Close>;
  BackendModel(Owner model, std::string remark, const pc_model_desc& desc);
  Status add_recurrent(const ModuleFile& module, std::span<pc_kv_segment> segments) const;
  void check_logits(pc_step_item& item) const;
  const pc_backend_v1* table() const { return model_.get_deleter().table; }

  Owner model_;
  std::string remark_;
  const simd::Kernels* kernels_;
  const pc_model_desc* desc_;
};

}  // namespace pc
