// The modules of one schema: each is there once, however many need it.
//
// Those that are kept live as long as this. The others come with prompts, belong to
// those who asked for them, and are only known here. The ones asked for last stay a
// while, so that the next prompt of the same shape finds them as they are: at most
// kRecentModules, whose tokens may take `recent_bytes`.
// Borrows what they are made from.
// Threads: any. Who asks first makes the job, which takes time for large scaffolds;
// others wait for it only where they need the same one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "pml/layout/encode_plan.h"
#include "pml/layout/layout.h"
#include "runtime/backend/backend.h"  // pc_model_desc
#include "runtime/schema/schema_module.h"

namespace pc {

// More than the prompts of one application import at a time; few enough to be looked
// through one by one.
inline constexpr std::size_t kRecentModules = 256;

class KnownModules {
 public:
  struct Origin {
    const pml::Layout& layout;
    const ModuleIdentity& base;  // all causes but the pass
    bool relocates;              // see Model
    const pc_model_desc& model;
  };
  KnownModules(const Origin& origin, std::uint64_t recent_bytes)
      : origin_(origin), recent_bytes_(recent_bytes) {}

  // Makes a module that lives as long as this object. To be called before get() and of().
  void keep(const pml::JobSpec& spec);
  const std::vector<std::shared_ptr<SchemaModule>>& kept() const { return kept_; }

  std::shared_ptr<SchemaModule> get(const pml::JobSpec& spec);
  // The same, to look whether it is stored: it does not stay for having been asked for.
  std::shared_ptr<SchemaModule> look_at(const pml::JobSpec& spec);

  // All known forms of these modules (indices into Layout::modules): that of the schema by itself,
  // and those that prompts used of late, the latest last.
  std::vector<std::shared_ptr<SchemaModule>> of(std::span<const std::uint32_t> subjects) const;

  // The size of the table, which may still list modules that are gone.
  std::size_t size() const;

 private:
  std::shared_ptr<SchemaModule> entry(const pml::JobSpec& spec);
  void make(SchemaModule& module, const pml::JobSpec& spec) const;
  void remember(const std::shared_ptr<SchemaModule>& module);
  void sweep() PC_REQUIRES(mutex_);

  const Origin origin_;
  const std::uint64_t recent_bytes_;
  std::vector<std::shared_ptr<SchemaModule>> kept_;

  mutable Mutex mutex_;
  std::map<pml::JobSpec, std::weak_ptr<SchemaModule>> known_ PC_GUARDED_BY(mutex_);
  std::size_t sweep_at_ PC_GUARDED_BY(mutex_) = kRecentModules;             // entries
  std::deque<std::shared_ptr<SchemaModule>> recent_ PC_GUARDED_BY(mutex_);  // the latest last
  std::uint64_t pinned_bytes_ PC_GUARDED_BY(mutex_) = 0;                    // by recent_
};

}  // namespace pc
