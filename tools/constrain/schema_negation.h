// What is not valid by a schema, as schemas.
#pragma once

#include <vector>

#include "tools/constrain/refusal.h"
#include "tools/constrain/schema_document.h"

namespace pc::constrain {

// Alternatives that take invalid values alone, though not all of them (ADR 0035). None: there is no
// invalid value. Throws Refusal where nothing of it can be said so.
std::vector<Json> negated(SchemaDocument& document, const SchemaPart& part, Budget& budget);

}  // namespace pc::constrain
