// What an answer that must call a tool is: one call as the model's template writes it, with
// arguments that the tool's schema takes.
//
// Pure. Threads: any.
#pragma once

#include <cstddef>
#include <string_view>

#include "runtime/calls/shape/call_shape.h"
#include "runtime/constrain/grammar/grammar.h"
#include "runtime/constrain/grammar/vocabulary.h"
#include "runtime/json/json_value.h"

namespace pc::calls {

// function: OpenAI's, of the request's `number`th tool, which messages about its schema name.
constrain::Grammar call_grammar(const CallShape& shape, const Json& function, std::size_t number);

// The shape for grammars of this vocabulary: control tokens in its words are marked.
CallShape marked(CallShape shape, const constrain::Vocabulary& vocabulary);

// Can a call of a tool of this name be told from what stands around it? Where a template writes
// names without quotes, not each: kBareNames says so.
bool can_name(const CallShape& shape, std::string_view name);
inline constexpr const char* kBareNames =
    "this model's chat template writes a tool's name without quotes: letters, digits, _ - . and : "
    "can be told from what stands around it";

}  // namespace pc::calls
