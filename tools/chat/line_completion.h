// What the tab key makes of a line.
//
// Pure. Threads: any.
#pragma once

#include <span>
#include <string>

namespace pc::cli {

// What to append to the line, whose last word is the text behind its last space. If exactly one of
// `words` begins with the last word: the rest of it and a space (no space behind "name="). If
// several do: what these have in common behind it, perhaps "".
std::string completion_of(const std::string& line, std::span<const std::string> words);

}  // namespace pc::cli
