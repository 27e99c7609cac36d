// A module of a schema in one context, or a scaffold: what it is made of, and the
// module itself once somebody needed it.
//
// Made, shared and completed by KnownModules; whoever has one may read job,
// identity and key, which do not change any more. Threads: as each field says.
#pragma once

#include <memory>

#include "base/mutex.h"
#include "modules/module_file.h"
#include "modules/module_key.h"
#include "pml/layout/encode_plan.h"
#include "runtime/scheduler/long_mutex.h"

namespace pc {

struct SchemaModule {
  pml::EncodeJob job;
  ModuleIdentity identity;
  ModuleKey key;  // of identity

  LongMutex mutex;  // held while the module is looked for and encoded
  // Alive while somebody computes with it, or the engine holds it (held_modules.h).
  std::weak_ptr<const ModuleFile> handle PC_GUARDED_BY(mutex);

  // Used by KnownModules alone.
  Mutex making;
  bool made PC_GUARDED_BY(making) = false;  // job and identity are
  bool kept = false;                        // written before others know it
};

}  // namespace pc
