// What Jinja and Python have and this library does not: names that no published
// template uses (docs/CHAT_TEMPLATES.md has the counts). A template that uses one
// is told so by name, not that there were no such thing.
//
// Constant tables. Threads: any.
#pragma once

#include <string_view>

#include "base/status.h"
#include "runtime/jinja/values/callable.h"

namespace pc::jinja {

// "the filter 'xmlattr' is not offered: ...", which ends with the way out; kUnsupported.
Error left_out(std::string_view what);

// For names that find_filter() and find_test() do not know: left out, or of no Jinja.
Error unknown_filter(std::string_view name);
Error unknown_test(std::string_view name);

// A method or attribute that Python's object has and find_method() does not know.
bool is_left_out(const Value& object, std::string_view name);

// A function of Jinja that find_function() does not know: it gives the error when
// called. nullptr: Jinja has none of this name.
Function find_left_out_function(std::string_view name);

}  // namespace pc::jinja
