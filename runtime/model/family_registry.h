// The families of models that can be loaded, by architecture.
//
// Static data. Threads: any.
#pragma once

#include <string_view>

#include "base/status.h"
#include "runtime/model/families/family.h"

namespace pc {

// Errors: kUnsupported, with the reason where one is known, and the list of what can be loaded.
Result<const Family*> find_family(std::string_view architecture);
Result<const Family*> find_gguf_family(std::string_view architecture);

}  // namespace pc
