// A module file on its way from one store to another: a file of any name, anywhere.
//
// What is imported is as trusted as what is in the store already: its sums find damage, not
// forgery. Progress is told of bytes, each of which counts twice: it is read, and it is written.
// Threads: any.
#pragma once

#include <string>

#include "base/progress.h"
#include "base/status.h"
#include "modules/module_store.h"

namespace pc {

// Writes a module that the store has, every byte of which is verified, to a new file. Errors:
// ModuleStore::inspect's; kCorrupt; kInvalidArgument where there is such a file; kIo and
// kCancelled, and then it is gone.
Status export_module(const ModuleStore& store, const ModuleKey& key, const std::string& path,
                     Progress progress = {});

// Puts the module in this file into the store, every byte verified. Errors: kNotFound, kCorrupt,
// kUnsupported (another version), kCancelled; ModuleStore::publish's.
Result<ModuleKey> import_module(ModuleStore& store, const std::string& path,
                                Progress progress = {});

}  // namespace pc
