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

// A module as a backend holds it: for the CPU where it lies, for a device a copy. Pins the module.
class Resident {
 public:
  const ModuleFile& module() const { return *module_; }
  const ModuleHandle& handle() const { return module_; }

  // It will be attached soon; returns at once.
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
  // Of a kept run of a module (pc_attachment::segment).
  Status attach(ResidentHandle resident, const pc_attachment& attachment);

  // Distances of the values of computed tokens, from `first` on, from those of the first
  // distances.size() of kept run `run`, in one layer (timeline_compare).
  Status compare(std::uint32_t first, const Resident& resident, std::uint32_t run,
                 std::uint32_t layer, std::span<float> distances) const;

  // Forgets the computed tokens from n_tokens on, and what was attached from n_attached on.
  Status rewind(std::uint32_t n_tokens, std::uint32_t n_attached);

  // Another that has seen the same, and shares its memory as far as it goes.
  Result<BackendTimeline> fork() const;

  // Copies the states of so many computed tokens, of which the first began a run that did not
  // extend another.
  Status read(std::uint32_t first, std::uint32_t n_tokens, const KvPlanes& planes) const;

  std::uint32_t n_tokens() const { return n_tokens_; }  // computed
  std::uint32_t n_attached() const { return static_cast<std::uint32_t>(residents_.size()); }
  std::span<const ResidentHandle> residents() const { return residents_; }  // of what is attached
  std::span<const AttachedTokens> attached() const { return attached_; }    // [n_attached]

  pc_backend_timeline* get() const { return timeline_.get(); }
  // A step of get()'s computed so many more.
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

  // See pc_step_item, and status_of() for what became of each. Allocates nothing itself. One
  // at a time. kNotFinite, naming the backend, where it hands out logits that are not.
  void step(std::span<pc_step_item> items) const;
  Status status_of(const pc_step_item& item) const;
  // What the backend says of an item that it computed; "" if nothing.
  static std::string remark_of(const pc_step_item& item);

  const char* name() const { return table()->name; }
  std::uint32_t numerics_version() const { return table()->numerics_version; }
  std::uint32_t step_tokens() const { return table()->step_tokens; }
  bool hands_out_rows() const { return table()->hands_out_rows != 0; }

  // Why it is slower than it could be; "" if it is not.
  const std::string& remark() const { return remark_; }

 private:
  struct Close {
    const pc_backend_v1* table;
    void operator()(pc_backend_model* model) const { table->model_close(model); }
  };
  using Owner = std::unique_ptr<pc_backend_model, Close>;
  BackendModel(Owner model, std::string remark, std::uint32_t vocab_size);
  void check_logits(pc_step_item& item) const;
  const pc_backend_v1* table() const { return model_.get_deleter().table; }

  Owner model_;
  std::string remark_;
  const simd::Kernels* kernels_;
  std::uint32_t vocab_size_;
};

}  // namespace pc
