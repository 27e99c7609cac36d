// Module files on their way from one store to another: one file of any name, anywhere. A single
// module travels as its own file. Of several, a page says how many and which, and they follow, each
// from a multiple of 4,096 bytes on and zeros between them (docs/MODULE_FORMAT.md).
//
// What is imported is as trusted as what is in the store already: its sums find damage, not
// forgery. Progress is told of bytes, each of which counts twice: it is read, and it is written.
// Threads: any.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/status.h"
#include "modules/module_store.h"

namespace pc {

// Writes modules that the store has, every byte of which is verified, to a new file. Errors:
// ModuleStore::inspect's; kCorrupt; kInvalidArgument where there is such a file, or there is no
// key; kIo and kCancelled, and then it is gone.
Status export_modules(const ModuleStore& store, std::span<const ModuleKey> keys,
                      const std::string& path, Progress progress = {});

// Puts the modules in this file into the store, after every byte of all is verified; their keys, in
// the file's order. Errors, none of which takes back what is in the store: kNotFound, kCorrupt,
// kUnsupported (another version), kCancelled; ModuleStore::publish's.
Result<std::vector<ModuleKey>> import_modules(ModuleStore& store, const std::string& path,
                                              Progress progress = {});

}  // namespace pc
