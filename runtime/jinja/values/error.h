// The form of every error about a template's source.
//
// Pure. Threads: any.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace pc::jinja {

// "line 12: what"
Error template_error(Code code, std::uint32_t line, std::string_view what);

}  // namespace pc::jinja
