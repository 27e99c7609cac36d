// Python's two ways to format: `'%s has %d' % (a, b)` and `'{} has {:>5}'.format(a, b)`.
//
// Widths and precisions are limited like any string. Threads: one rendering,
// one thread.
#pragma once

#include <string_view>

#include "base/status.h"
#include "runtime/jinja/values/callable.h"

namespace pc::jinja {

// `arguments` is a tuple of values, a dictionary for %(name)s, or one value.
Result<Value> percent_format(Runtime& runtime, const Value& form, const Value& arguments);

Result<Value> brace_format(Runtime& runtime, const Value& form, const Arguments& arguments);

// format(value, spec), spec as behind the colon: ">8.3f".
Result<std::string> format_by_spec(Runtime& runtime, const Value& value, std::string_view spec);

}  // namespace pc::jinja
