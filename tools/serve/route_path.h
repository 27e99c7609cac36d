// Paths of routes, the last segment of which may be a name: "/pml/schemas/*".
//
// Pure. Threads: any.
#pragma once

#include <string>
#include <string_view>

namespace pc::serve {

// "*" stands for one segment, which is not empty.
bool leads_to(std::string_view path, std::string_view route);

// What stands for "*", without percent signs. Throws ApiError where it is no name.
std::string name_in(std::string_view path);

}  // namespace pc::serve
