// What a request line asks for, in the one spelling that routes know.
//
// Pure. Threads: any.
#pragma once

#include <string>
#include <string_view>

namespace pc::serve {

struct Target {
  std::string authority;  // "localhost:8080" of "http://localhost:8080/v1", as to a proxy; else ""
  std::string path, query;  // before and behind the first '?'
};

// The path begins with one slash, has no two behind each other and none at its end, and characters
// that need no percent sign have none ("/v1//%6Dodels/" is "/v1/models"); others keep theirs, so
// that "%2F" ends no segment. "*" stays.
Target target_of(std::string_view text);

}  // namespace pc::serve
