// The JSON reports of the C API on a store: its modules, and the packed weights
// that lie beside them. Fields are added over time, never renamed.
//
// They compute no states, pin nothing and mark no use. Threads: any.
#pragma once

#include <string>
#include <vector>

#include "base/progress.h"
#include "base/status.h"
#include "modules/module_store.h"
#include "modules/store/cache_folder.h"
#include "modules/store_pull.h"

namespace pc {

// packed: the folder of a store's packed weights (open_packed_folder).
Result<std::string> describe_store(const ModuleStore& store, const CacheFolder& packed);
std::string show_module(const ModuleFile& module);

// Files of a store by what they are.
struct StoreKeys {
  std::vector<Digest> modules, packed;
};

// Every byte of these files. Damage is part of the report. `progress` is told of files. kCancelled.
Result<std::string> verify_store(const ModuleStore& store, const CacheFolder& packed,
                                 const StoreKeys& keys, Progress progress = {});

std::string describe_pull(const PullReport& report);
std::string describe_gc(const EvictionReport& modules, const EvictionReport& packed);

}  // namespace pc
