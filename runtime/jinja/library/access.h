// `object.name`, `object[index]` and `object[start:stop:step]`, as Jinja's
// immutable sandbox gives them: an attribute before a key for a dot, a key before
// an attribute for brackets, and an undefined value where there is neither.
// Methods that would change a list or a dictionary are undefined.
//
// Threads: one rendering, one thread.
#pragma once

#include <string_view>

#include "base/status.h"
#include "runtime/jinja/values/callable.h"

namespace pc::jinja {

Result<Value> get_attribute(Runtime& runtime, const Value& object, std::string_view name);
Result<Value> get_item(Runtime& runtime, const Value& object, const Value& index);

// Bounds are none where they are left out.
Result<Value> get_slice(Runtime& runtime, const Value& object, const Value& start,
                        const Value& stop, const Value& step);

// "a.b.0": attributes and indices one after the other, as filters take them; a
// default stands in where one is undefined.
Result<Value> get_path(Runtime& runtime, Value object, const Value& path,
                       const Value* fallback = nullptr);

}  // namespace pc::jinja
