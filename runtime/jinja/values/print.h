// How Python prints a value: str(), which `{{ value }}` uses, and repr().
//
// Charged to the budget. Threads: any.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "runtime/jinja/values/value.h"

namespace pc::jinja {

Result<std::string> to_str(Budget* budget, const Value& value);
Result<std::string> to_repr(Budget* budget, const Value& value);

// The shortest decimal that reads back as the same number: "0.1", "1e+16", "inf".
std::string float_repr(double number);

// Quoted as Python does: 'it', "it's", '\n', '\x00'.
std::string string_repr(std::string_view text);

// & < > ' " as HTML entities.
std::string escape_html(std::string_view text);

}  // namespace pc::jinja
