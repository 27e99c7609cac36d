// A module file on its way from one store to another: a file of any name, anywhere.
//
// What is imported is as trusted as what is in the store already: its sums find damage, not
// forgery. Threads: any.
#pragma once

#include <string>

#include "base/status.h"
#include "modules/module_store.h"

namespace pc {

// Writes a module that the store has, every byte of which is verified, to a new file. Errors:
// ModuleStore::verify's; kInvalidArgument where there is such a file; kIo, and then it is gone.
Status export_module(const ModuleStore& store, const ModuleKey& key, const std::string& path);

// Puts the module in this file into the store, every byte verified. Errors: kNotFound, kCorrupt,
// kUnsupported (another version); ModuleStore::publish's.
Result<ModuleKey> import_module(ModuleStore& store, const std::string& path);

}  // namespace pc
