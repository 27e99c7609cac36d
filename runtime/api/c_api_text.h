// pc_text_flags as the engine has them.
//
// Internal to runtime/api/c_api*.cc. Threads: pure functions.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "promptcache/promptcache.h"
#include "runtime/engine/engine.h"

namespace pc::capi {

inline Result<Engine::TextRules> text_rules(std::uint32_t flags) {
  if ((flags & ~(PC_TEXT_CONTROLS | PC_TEXT_BOS | PC_TEXT_END)) != 0)
    return error(Code::kUnsupported,
                 "flags have a bit that this version of the library does not know");
  Engine::TextRules rules;
  rules.controls = (flags & PC_TEXT_CONTROLS) != 0;
  rules.bos = (flags & PC_TEXT_BOS) != 0;
  rules.end = (flags & PC_TEXT_END) != 0;
  return rules;
}

}  // namespace pc::capi
