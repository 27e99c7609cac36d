// Values as Python writes them, and JSON, which differs in three words: in calls that models write
// as Python does.
//
// Some templates write a text between quotes as it is. So a quote ends a string only where a comma,
// a colon or a closing bracket comes next, as in Python it always does.
//
// Pure. Threads: any.
#pragma once

#include <optional>

#include "runtime/calls/shape/call_cursor.h"
#include "runtime/json/json_value.h"

namespace pc::calls {

// Takes a string in single or double quotes, a number, True, true and the like, None or null, a
// list, a tuple (as a list) or a dict whose keys are strings; nothing, with the cursor anywhere,
// where none of these stands there, or more than 64 of them are in each other.
std::optional<Json> take_python_value(CallCursor* at);

}  // namespace pc::calls
