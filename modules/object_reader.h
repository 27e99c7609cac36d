// How an object becomes a ModuleFile: opened without trust, locked as in use,
// mapped, validated.
//
// The payload is verified unless its stamp says that it was, in this boot; by reading, not through
// the mapping, so that a bad disk is an error and not a signal. Internal to modules/. Threads: any.
#pragma once

#include <functional>
#include <string>

#include "base/function_ref.h"
#include "base/status.h"
#include "modules/module_file.h"
#include "modules/store/cache_folder.h"

namespace pc {

enum class ReadMode {
  kUse,      // trusts a stamp; marks the use; sets a bad file aside
  kVerify,   // verifies every byte; changes nothing
  kInspect,  // all but the payload; changes nothing
};

// Maps an open file as the module of this key, header and tables checked. `accept`, then `check`
// of its payload have the last word. Takes the descriptor where the process has plenty. `name` is
// for messages. Errors: kIo, kUnsupported, kCorrupt, kMismatch; theirs.
Result<ModuleHandle> map_object(OpenFile& file, const ModuleKey& key, const std::string& name,
                                FunctionRef<Status(const ModuleFile&)> accept,
                                FunctionRef<Status(const ModuleFile&)> check);

// Sums every chunk of the payload, read from the file. kCorrupt; kIo.
Status verify_by_reading(const ModuleFile& module, int fd);

// `accept` has the last word on a sound module. Errors: kNotFound, kIo,
// kUnsupported (all left alone); kCorrupt, kMismatch (set aside in kUse: *is_set_aside, if given).
Result<ModuleHandle> read_object(const CacheFolder& folder, const ModuleKey& key, ReadMode mode,
                                 const std::function<Status(const ModuleFile&)>& accept,
                                 bool* is_set_aside = nullptr);

}  // namespace pc
