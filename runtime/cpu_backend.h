// The CPU behind the backend seam: a table of C functions over Transformer.
#pragma once

#include "runtime/backend.h"

namespace pc {

// Static, never null.
const pc_backend_v1* cpu_backend();

}  // namespace pc
