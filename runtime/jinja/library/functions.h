// The functions that every template can call: Jinja's range, dict and namespace,
// and raise_exception and strftime_now, which transformers adds.
//
// Constant table. Threads: any.
#pragma once

#include <string_view>

#include "runtime/jinja/values/callable.h"

namespace pc::jinja {

// nullptr: no such function.
Function find_function(std::string_view name);

// The error that raise_exception("...") makes starts with it; no other one does.
inline constexpr std::string_view kRaised = "the chat template refuses the conversation: ";

}  // namespace pc::jinja
