// Names of answers: random, as clients keep them apart.
#pragma once

#include <string>
#include <string_view>

namespace pc::serve {

// Of a tool's call: nine letters and digits, which is what Mistral's templates want.
std::string new_call_name();

// "chatcmpl-" and 24 hexadecimal digits. Not a secret.
std::string new_name(std::string_view prefix);

}  // namespace pc::serve
