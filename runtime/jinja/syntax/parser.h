// Parses the text of a template into a tree: Jinja 3.1's grammar with the
// extensions that transformers turns on (break, continue, generation), without
// what needs other files (include, import, extends, block).
//
// Linear; nesting is limited. Errors: kCorrupt (not a template), kUnsupported
// (over a limit, or a statement that chat templates do not have).
// Threads: any.
#pragma once

#include <string_view>

#include "base/status.h"
#include "runtime/jinja/syntax/ast.h"

namespace pc::jinja {

// Trees may be so deep. A template of ours to answer for: an expression of 200
// terms, statements 20 deep; the published ones stay below 60.
inline constexpr int kMaxTreeDepth = 250;

Result<Template> parse_template(std::string_view source);

}  // namespace pc::jinja
