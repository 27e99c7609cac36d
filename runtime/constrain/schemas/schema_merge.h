// "allOf", "anyOf", "oneOf", "not", "if" and what else is about whole schemas, multiplied out: a
// schema as alternatives that have none of them (ADR 0035).
#pragma once

#include <vector>

#include "runtime/constrain/automata/refusal.h"
#include "runtime/constrain/schemas/schema_keywords.h"

namespace pc::constrain {

// Each alternative is for values that the schema takes; not all that it takes are among them.
// Leaves out what is not merged simply, as two patterns are. What is merged pays for its size:
// parts that multiply do so without end.
Result<std::vector<SchemaPart>> flattened(SchemaDocument& document, const SchemaPart& part,
                                          Budget& budget);

// Can no value be valid by two alternatives of a part's "oneOf"?
Result<bool> is_any_of(SchemaDocument& document, const SchemaPart& part, Budget& budget);
// The alternatives of a part's "oneOf", each without the values that another takes as well.
Result<std::vector<SchemaPart>> one_of(SchemaDocument& document, const SchemaPart& part,
                                       Budget& budget);

}  // namespace pc::constrain
