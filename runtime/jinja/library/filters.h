// The filters of Jinja that templates use, and tojson as transformers replaces it.
//
// A filter is a function whose `self` is what it is applied to. Constant tables.
// Threads: any.
#pragma once

#include <span>
#include <string_view>

#include "runtime/jinja/library/methods.h"  // Method: a name and its function
#include "runtime/jinja/values/callable.h"

namespace pc::jinja {

// nullptr: there is none of this name.
Function find_filter(std::string_view name);

std::span<const Method> text_filters();       // text_filters.cc
std::span<const Method> sequence_filters();   // sequence_filters.cc
std::span<const Method> selection_filters();  // selection_filters.cc
std::span<const Method> number_filters();     // number_filters.cc

// What filters share: the value's text, and whether that is safe HTML.
Result<Value> soft_string(Runtime& runtime, const Value& value);

// Lower case where `value` is a string, for comparisons that ignore case.
Result<Value> without_case(Runtime& runtime, const Value& value);

// Sorts stably by the keys, places alone; `keys` as long as the result.
Result<std::vector<std::size_t>> sorted_places(Budget& budget, const std::vector<Value>& keys,
                                               bool descending);

}  // namespace pc::jinja
