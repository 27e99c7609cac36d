// The formats of strings that are enforced: each as a pattern of the texts that surely have it.
//
// Some take less than their definition does: an e-mail address has no quoted part, a time has no
// leap second, a URI has an authority.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pc::constrain {

std::optional<std::string> pattern_of_format(std::string_view format);

// A format that no standard has a rule for, or none about the text: "password", "int32", "path".
bool is_annotation_only(std::string_view format);

}  // namespace pc::constrain
