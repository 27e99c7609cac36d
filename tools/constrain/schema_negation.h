// What is not valid by a schema, as schemas.
#pragma once

#include <vector>

#include "tools/constrain/refusal.h"
#include "tools/constrain/schema_document.h"

namespace pc::constrain {

// Keywords of our own: a string is none of these, and no pattern of these is found in it. (A
// document that has them is held to them, which does no harm.)
inline constexpr const char* kNoneOf = "\x01none of";
inline constexpr const char* kNoPattern = "\x01no pattern";

// Alternatives that take invalid values alone, though not all of them (ADR 0035). None: there is no
// invalid value. Throws Refusal where nothing of it can be said so.
std::vector<Json> negated(SchemaDocument& document, const SchemaPart& part, Budget& budget);

}  // namespace pc::constrain
