// Which schema a PML prompt is for: the library reads a prompt against its schema, so that must be
// known before.
//
// Pure. Threads: any.
#pragma once

#include <string>
#include <string_view>

namespace pc::serve {

// The name in <prompt schema="...">; "" where the text does not begin with that.
std::string schema_of_prompt(std::string_view pml);

}  // namespace pc::serve
