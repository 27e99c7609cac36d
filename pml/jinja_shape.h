// What a chat template puts out, without running it: its text and its string
// literals in the order of the source, and a mark for every value between them.
//
//   {{ bos_token }}{% for m in messages %}{{ '<|' + m['role'] + '|>\n' }}...
//   kBosMark kValueMark '<|' kValueMark '|>' LF ...
//
// Follows the white space rules under which transformers compiles templates
// (trim_blocks, lstrip_blocks, '-' at a tag). Control flow is not followed:
// what stands in a branch stands in the shape, and strings that a statement
// compares with stand there too. Linear time; any bytes give some shape.
//
// Threads: any; no state.
#pragma once

#include <string>
#include <string_view>

namespace pc::pml {

inline constexpr char kValueMark = '\1';  // a variable, or any other computation
inline constexpr char kBosMark = '\2';    // bos_token
inline constexpr char kEosMark = '\3';    // eos_token

std::string jinja_shape(std::string_view jinja);

}  // namespace pc::pml
