// How a template writes an object's members without JSON around them:
//
//   <parameter=city>
//   Oslo
//   </parameter>
//
// or as Python names arguments: city="Oslo", days=3
//
// A value. Threads: any.
#pragma once

#include <string>

namespace pc::constrain {

// In front of a control token's spelling where it stands in a grammar's own words: no text has this
// byte, which is in no UTF-8.
inline constexpr char kControlMark = '\xFF';

// With white space, and control tokens behind kControlMark.
struct MemberWords {
  std::string key_open, key_close, value_close;  // the last ends in no space
  std::string between = {};                      // two members
  bool has_quotes = false;                       // strings are JSON, too
};

}  // namespace pc::constrain
