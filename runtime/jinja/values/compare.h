// Python's truth and order of values, and what holds what.
//
// Pure. Recursion ends at kMaxValueDepth. Threads: any.
#pragma once

#include "base/status.h"
#include "runtime/jinja/values/value.h"

namespace pc::jinja {

bool is_true(const Value& value);

// -1, 0 or 1; an error where Python has no order ("'<' not supported between ...").
// NaN is equal to nothing and less than nothing: then 2.
Result<int> compare(const Value& a, const Value& b, const char* symbol = "<");

// Is `value` an element, a key or a substring of `container`? Charged to the budget.
Result<bool> contains(Budget* budget, const Value& container, const Value& value);

}  // namespace pc::jinja
