// What is kept about a schema on a model from run to run: one small text of a kind.
//
// <cache dir>/<kind>/<64 hex>:
//
//   promptcache <kind> 1
//   of <64 hex>        the record's name
//   ...                lines of the kind's own: its body
//   seal <64 hex>      SHA-256 of the lines above
//
// Whatever is torn, or not exactly as the writer would write it, or of another user, is no record.
// Nothing here is an error: a record that cannot be read or written is not there.
//
// A tenant of the file cache (modules/store/cache_folder.h). Threads and processes: any; of two
// that write, the later one's record stays.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/hash.h"  // Digest
#include "modules/module_key.h"
#include "pml/layout/layout.h"

namespace pc {

// A record's name: from everything that a module's states come from (`base`) but its text and
// namespace, and the schema's name, positions= and attend=. The schema's texts may change.
Digest schema_record_key(const ModuleIdentity& base, const pml::Layout& layout);

// kind: a name that a folder can have. The body's lines, the last line break included.
std::optional<std::string> recall_record(std::string_view kind, const Digest& key,
                                         const std::string& cache_dir);

// Writes it in the place of an older one. False: it could not be written.
// Precondition: body ends with a line break.
bool remember_record(std::string_view kind, const Digest& key, const std::string& body,
                     const std::string& cache_dir);

// Removes all of a kind, as far as they can be, and what writers that died left of theirs.
void forget_records(std::string_view kind, const std::string& cache_dir);

}  // namespace pc
