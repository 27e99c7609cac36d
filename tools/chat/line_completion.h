// What the tab key makes of a line.
//
// Pure. Threads: any.
#pragma once

#include <span>
#include <string>

namespace pc::cli {

// What belongs behind the line's last word (its text behind the last space), of these words: all of
// the rest and a space (behind "name=" none) where one alone begins so, else what those that do
// have in common, maybe "".
std::string completion_of(const std::string& line, std::span<const std::string> words);

}  // namespace pc::cli
