// The tests of Jinja that templates use: what stands behind `is`.
//
// A test is a function whose `self` is what is tested; it gives a boolean.
// Constant tables. Threads: any.
#pragma once

#include <string_view>

#include "runtime/jinja/values/callable.h"

namespace pc::jinja {

// nullptr: there is none of this name.
Function find_test(std::string_view name);

}  // namespace pc::jinja
