// What is not valid by a schema, as schemas.
#pragma once

#include <vector>

#include "runtime/constrain/automata/refusal.h"
#include "runtime/constrain/schemas/schema_document.h"

namespace pc::constrain {

// Alternatives that take invalid values alone, though not all of them (ADR 0035). None: there is no
// invalid value. Refused where nothing of it can be said so.
Result<std::vector<Json>> negated(SchemaDocument& document, const SchemaPart& part, Budget& budget);

}  // namespace pc::constrain
