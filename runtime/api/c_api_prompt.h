// The handle of a prompt, which c_api.cc makes and c_api_session.cc answers.
//
// Internal to runtime/api/c_api*.cc. A handle wraps; it never inherits. Threads: as the API says.
#pragma once

#include <memory>

#include "promptcache/promptcache.h"
#include "runtime/engine/session.h"  // LoadedPrompt

struct pc_prompt {
  std::shared_ptr<const pc::LoadedPrompt> prompt;
};
