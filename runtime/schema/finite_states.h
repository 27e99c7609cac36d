// Are the states of a module numbers? Asked once, before others may use it: whoever
// computed them, NaN and infinity spoil every answer that sees them, and no checksum
// tells. One pass, as fast as memory. Pure. Threads: any.
#pragma once

#include "base/status.h"
#include "modules/module_file.h"

namespace pc {

// kNotFinite, naming the backend and the first layer that is concerned.
Status check_finite(const ModuleFile& module, const char* backend);

}  // namespace pc
