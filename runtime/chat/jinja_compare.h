// Python's truth, equality, order and hashing of values.
//
// Pure. Recursion ends at kMaxValueDepth. Threads: any.
#pragma once

#include <cstddef>

#include "base/status.h"
#include "runtime/chat/jinja_value.h"

namespace pc::jinja {

bool is_true(const Value& value);

// 1 == 1.0 == True; a list never equals a tuple; two undefined values are equal.
bool equal(const Value& a, const Value& b);

// The same object, or the same singleton: Python's `is`.
bool identical(const Value& a, const Value& b);

// -1, 0 or 1; an error where Python has no order ("'<' not supported between ...").
// NaN is equal to nothing and less than nothing: then 2.
Result<int> compare(const Value& a, const Value& b, const char* symbol = "<");

// Equal values have equal hashes; an error for a list or a dictionary.
Result<std::size_t> hash_of(const Value& value);

// Is `value` an element, a key or a substring of `container`? Charged to the budget.
Result<bool> contains(Budget* budget, const Value& container, const Value& value);

}  // namespace pc::jinja
