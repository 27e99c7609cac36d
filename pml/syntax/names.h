// Names in messages: quoted, shortened, and with the known name that was
// probably meant.
//
// Pure. Threads: any.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pc::pml {

// 'name', cut to a length that a message can bear.
std::string quote(std::string_view name);

// <name>, shortened in the same way.
std::string tag(std::string_view name);

// The known name with the fewest slips (a letter wrong, missing, too many, or
// two swapped), if that is at most a third of its letters.
std::optional<std::string_view> nearest_name(std::string_view name,
                                             std::span<const std::string_view> known);

// The way out of an unknown name: "; did you mean 'x'?", or "; known here: a,
// b, c", or "" where nothing is known.
std::string name_hint(std::string_view name, std::span<const std::string_view> known);

}  // namespace pc::pml
