// The inside of a JSON string, from behind its opening quote to its closing one (RFC 8259, 7).
//
// Every spelling of every character that is one: escapes of two surrogates stand for one
// character, and a surrogate does not come alone. UTF-8 is that of RFC 3629.
#pragma once

#include "runtime/constrain/automata/dfa.h"

namespace pc::constrain {

// For rules of kind kCounted: its start stands between two characters, and each way from there back
// to it is one.
const Dfa& json_text();

}  // namespace pc::constrain
