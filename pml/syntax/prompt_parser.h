// From a prompt document to a Prompt: every rule that needs no schema is
// checked here.
//
// Pure. Threads: any; no state.
#pragma once

#include <string_view>

#include "base/status.h"
#include "pml/syntax/prompt.h"

namespace pc::pml {

// Errors: kPmlSyntax or kPmlSemantic, with line:column.
Result<Prompt> parse_prompt(std::string_view document);

}  // namespace pc::pml
