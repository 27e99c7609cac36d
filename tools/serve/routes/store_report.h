// What the server's store has, as it tells it.
//
// Reads the store's directory anew, which takes a while where it has many files. Threads: any.
#pragma once

#include "tools/output/json.h"

namespace pc::serve {

using cli::Json;

// {"object": "prompt_cache.store", "in_use"} and, of a store in use, "mode", "directory",
// "budget_bytes", "total_bytes", "n_files" and "files", those used last first and no more than a
// page can show: {"key", "bytes", "tokens", "kv_type", "model", "last_used_ms", "pinned"}, or "why"
// in the place of what is not known of a damaged one.
// cache: as an engine describes its own; null where it has none.
Json store_report(const Json& cache);

}  // namespace pc::serve
