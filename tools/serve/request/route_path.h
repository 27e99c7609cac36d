// Paths of routes, the last segment of which may be a name: "/pml/schemas/*", and the queries
// behind them.
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

// The value of the first "field=value" in "a=1&b=2", without percent signs; "" where there is none.
// Throws ApiError.
std::string value_in(std::string_view query, std::string_view field);

}  // namespace pc::serve
