// A conversation's file: JSON, a line a message,
//   {"role":"user","content":"..."}, or
//   {"role":"user","parts":[{"text":"..."},
//    {"module":"europe/paris","arguments":[{"name":"days","value":"3"}]}]}.
#pragma once

#include <promptcache/promptcache.hpp>
#include <string>
#include <vector>

namespace pc::cli {

// None where there is no such file. Failure: what is there is no file, such as /dev/null; or it
// names the file and the line that is no message, or has something that writing it again would
// lose.
std::vector<promptcache::Message> read_chat(const std::string& path);

// Moves a conversation's file, if there is one, to the first of PATH.1, PATH.2, ... that is free;
// gives that name, or "".
std::string set_chat_aside(const std::string& path);

// Written beside and moved, so that the file is whole at any time; a link stays one.
void write_chat(const std::string& path, const std::vector<promptcache::Message>& messages);

}  // namespace pc::cli
