// What a user may call a model that is none of this machine's files.
//
// Threads: any.
#pragma once

#include <string>

#include "base/status.h"

namespace pc {

// kNotFound where there is no such file or folder, with the way out: a URL and a name such as
// "org/model" are those of models that must be fetched first, for nothing is read over a network.
// kCorrupt: the file is empty. kIo: it cannot be looked at.
Status check_model_path(const std::string& path);

}  // namespace pc
