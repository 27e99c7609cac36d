// Answers that called tools, as protocols have them ("tool_calls"), in the way in which a model's
// template wants them.
//
// Pure. Threads: any.
#pragma once

#include "base/status.h"
#include "runtime/calls/shape/call_shape.h"
#include "runtime/json/json_value.h"

namespace pc::calls {

// The message with the arguments of its calls as objects, which may be JSON in strings.
// kInvalidArgument names the call where they are neither.
Result<Json> with_argument_objects(const Json& message);

// The message for this template; one without calls as it is. Precondition: arguments are objects.
Json called_answer(const Json& message, const CallShape& shape);

}  // namespace pc::calls
