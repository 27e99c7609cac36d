// The methods of strings, dictionaries, lists, tuples and numbers that a
// template may call. The sandbox refuses those that would change their object
// (access.cc); left_out.h has those that no template uses.
//
// Constant tables. Threads: any.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/jinja/values/callable.h"

namespace pc::jinja {

struct Method {
  std::string_view name;
  Function function;
};

// nullptr: Python has no such method, or templates do not get it.
Function find_method(const Value& object, std::string_view name);

std::span<const Method> string_methods();        // string_methods.cc
std::span<const Method> string_split_methods();  // split_methods.cc

// What methods and filters share.

// str.replace(); count < 0: all of them.
Result<std::string> replaced(Runtime& runtime, std::string_view text, std::string_view from,
                             std::string_view to, std::int64_t count);

// str.splitlines(), by Python's line ends.
std::vector<std::string_view> lines_of(std::string_view text, bool keeps_ends = false);

}  // namespace pc::jinja
