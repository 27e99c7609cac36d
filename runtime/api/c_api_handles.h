// The handles that several files of the C API's shim use.
//
// Internal to runtime/api/c_api*.cc. A handle wraps; it never inherits. Threads: as the API says.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "modules/module_store.h"
#include "promptcache/promptcache.h"
#include "runtime/constrain/grammar/constraint.h"
#include "runtime/engine/engine.h"
#include "runtime/prompt/loaded_prompt.h"
#include "runtime/schema/loaded_schema.h"

struct pc_engine {
  std::shared_ptr<const pc::Engine> engine;
  std::optional<std::string> name_space = {};  // none: the engine's own
};
struct pc_schema {
  std::shared_ptr<pc::LoadedSchema> schema;
};
struct pc_prompt {
  std::shared_ptr<const pc::LoadedPrompt> prompt;
};
struct pc_store {
  std::unique_ptr<pc::ModuleStore> store;
};
struct pc_constraint {
  std::shared_ptr<const pc::Engine> engine;  // whose tokens it is compiled for
  pc::constrain::Constraint begin;
};

namespace pc::capi {

// What a caller wants to be told of a store's files, while it borrows both.
struct StoreProgress {
  pc_store_progress progress;
  void* user;
  bool operator()(std::uint64_t done, std::uint64_t total) const {
    return !progress || progress(user, done, total) == 0;
  }
};

}  // namespace pc::capi
