// What the keywords of JSON Schema (2020-12, and of draft 7 what means the same) are to this
// folder: those that are enforced, those that cannot be and are refused or named, and all others,
// which say nothing about values: annotations, and what no standard knows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/constrain/schemas/schema_document.h"

namespace pc::constrain {

// Types as bits: "integer" is a part of "number".
using Types = unsigned;
inline constexpr Types kNull = 1, kBoolean = 2, kString = 4, kInteger = 8, kFraction = 16,
                       kNumber = kInteger | kFraction, kArray = 32, kObject = 64, kAllTypes = 127;

// Keywords of our own: a string is none of these, and no pattern of these is found in it. (A
// document that has them is held to them, which does no harm.)
inline constexpr const char* kNoneOf = "\x01none of";
inline constexpr const char* kNoPattern = "\x01no pattern";

// The keywords of a schema that say something about values, in its order.
std::vector<std::string> constraints_of(const Json& schema);

// The part with those of its keywords that are enforced, and with no others. What cannot be
// enforced, and what has not the type that its keyword wants, is left out of the document.
Result<SchemaPart> checked(SchemaDocument& document, const SchemaPart& part);

// Where a part has nothing but a reference and annotations, what it refers to, as often as that is
// so.
Result<SchemaPart> resolved(SchemaDocument& document, SchemaPart part);

// Of "type"; nothing where it is absent. A value's own.
std::optional<Types> declared_types(const Json& schema);
Types types_of_value(const Json& value);
Json type_names(Types types);
// The types about which a keyword says something; all of them where it is about any.
Types types_of_keyword(std::string_view keyword);

// Of a keyword that counts.
std::uint32_t count_of(const Json& schema, const char* keyword, std::uint32_t otherwise);

// Of "const" or "enum"; nothing where there is neither.
std::optional<std::vector<Json>> declared_values(const Json& schema);

}  // namespace pc::constrain
