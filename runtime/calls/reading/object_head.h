// The beginning of an object that may be a call: its name, and where its arguments begin.
//
// Pure. Threads: any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/calls/shape/call_shape.h"

namespace pc::calls {

struct ObjectHead {
  enum class Kind {
    kMore,   // the text is over before it can be told
    kNone,   // no object with a name
    kWhole,  // perhaps one that can only be read as a whole: arguments come first, or as a string
    kFound
  } kind = Kind::kNone;
  std::string name = {};
  std::size_t arguments = 0;  // kFound: where their bracket stands in the text
};

// text: begins with '{'.
ObjectHead read_object_head(const CallShape& shape, std::string_view text);

}  // namespace pc::calls
