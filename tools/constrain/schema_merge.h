// "allOf", "anyOf", "oneOf" and references beside other keywords, multiplied out: a schema as
// alternatives that have none of them.
#pragma once

#include <vector>

#include "tools/constrain/refusal.h"
#include "tools/constrain/schema_keywords.h"

namespace pc::constrain {

// Each alternative is for values that the schema takes, and all that it takes are among them.
// Leaves out what is not merged simply: two patterns, additional properties that are others for
// each part, alternatives of "oneOf" that may overlap. What is merged pays for its size: parts that
// multiply do so without end.
std::vector<SchemaPart> flattened(SchemaDocument& document, const SchemaPart& part, Budget& budget);

// Leaves "oneOf" of a part out, which is "anyOf" then, unless no value can be valid by two of its
// alternatives.
void check_one_of(SchemaDocument& document, const SchemaPart& part, Budget& budget);

}  // namespace pc::constrain
