// From a written scaffold to the modules it means, and what is wrong with it.
//
// Pure. Threads: any.
#pragma once

#include "base/status.h"
#include "pml/layout/layout.h"
#include "pml/syntax/schema.h"

namespace pc::pml {

// `layout` holds all modules of the schema. Errors: kPmlSemantic at the
// scaffold: a module that is unknown, listed twice, without its parent or
// without a cache, or two members of one union.
Result<Scaffold> lay_out_scaffold(const SchemaScaffold& written, const Layout& layout);

}  // namespace pc::pml
