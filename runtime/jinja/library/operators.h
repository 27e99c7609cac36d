// Python's arithmetic on values.
//
// Integers have 64 bits: a result beyond them is an error, where Python would go
// on. Threads: one rendering, one thread.
#pragma once

#include <string_view>

#include "base/status.h"
#include "runtime/jinja/values/callable.h"

namespace pc::jinja {

// "+", "-", "*", "/", "//", "%", "**".
Result<Value> binary(Runtime& runtime, std::string_view op, const Value& a, const Value& b);

// "-" and "+".
Result<Value> unary(std::string_view op, const Value& a);

// a ~ b ~ c
Result<Value> concatenate(Runtime& runtime, const std::vector<Value>& parts);

// "==", "!=", "<", "<=", ">", ">=", "in", "notin".
Result<bool> compare_by(Runtime& runtime, std::string_view op, const Value& a, const Value& b);

}  // namespace pc::jinja
