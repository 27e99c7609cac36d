// Says of each name in a template which variable it is, once, before anything
// is rendered. The rules are those of Jinja's compiler, which differ from a chain
// of scopes that are looked up by name: whether a loop's body reads the outer
// variable or its own depends on what the body assigns anywhere in it.
//
// Also refuses filters and tests that do not exist, outside of branches, where
// Jinja leaves that to the rendering. Errors: kCorrupt. Threads: any.
#pragma once

#include "base/status.h"
#include "runtime/jinja/syntax/ast.h"

namespace pc::jinja {

Status resolve_names(Template* parsed);

}  // namespace pc::jinja
