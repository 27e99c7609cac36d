// From a schema and a tokenizer to the schema's layout.
//
// Pure but for the encoder's functions. Threads: any that the encoder allows.
#pragma once

#include <optional>

#include "base/status.h"
#include "pml/layout/layout.h"
#include "pml/syntax/schema.h"
#include "pml/turns/text_encoder.h"

namespace pc::pml {

// Errors: kPmlSemantic with line:column (a parameter's scaffold longer than
// its room, a role without a chat format, a scaffold that cannot be, a schema
// over a limit), or what the encoder gave.
Result<Layout> lay_out(const Schema& schema, const TextEncoder& encoder);

// The same schema as if it said attend="slots", with its own first modules as stand-ins. Nothing
// where it has slots, or cannot have them: positions="schema", attend="schema", no module that
// could stand in for another, or more to encode than a schema may have.
std::optional<Layout> in_slots(const Layout& layout);

}  // namespace pc::pml
