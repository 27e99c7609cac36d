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

// With white space, and control tokens as Vocabulary::with_controls marks them.
struct MemberWords {
  std::string key_open, key_close, value_close;  // the last ends in no space
  std::string between = {};                      // two members
  bool has_quotes = false;                       // strings are JSON, too
};

}  // namespace pc::constrain
