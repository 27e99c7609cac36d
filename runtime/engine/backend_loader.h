// Finds a backend: the CPU's, or a plug-in's from a shared object.
//
// A plug-in is loaded by absolute path only, from a regular file that neither
// group nor others can write and that root or this user owns; its table must
// carry our ABI number, be at least as large as ours and name a backend that
// is not the CPU. A loaded plug-in is never unloaded, since its tables are used
// until the process ends.
// Home of dlopen. Threads: any.
#pragma once

#include <string>

#include "base/status.h"
#include "runtime/backend/backend.h"

namespace pc {

// kInvalidArgument unless `name` is "" or "cpu", or the absolute path of a plug-in.
Status check_backend_name(const std::string& name);

// Errors: kInvalidArgument (as above), kNotFound, kIo (not to be trusted),
// kUnsupported (not ours, or another ABI).
Result<const pc_backend_v1*> find_backend(const std::string& name);

}  // namespace pc
