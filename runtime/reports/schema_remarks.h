// What an author of a schema should look at again: things that are allowed
// and probably not meant.
//
// Pure. Threads: any.
#pragma once

#include <string>
#include <vector>

#include "runtime/schema/loaded_schema.h"

namespace pc {

// One sentence each, in document order.
std::vector<std::string> schema_remarks(const LoadedSchema& schema);

}  // namespace pc
