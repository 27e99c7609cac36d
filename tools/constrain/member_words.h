// How a template writes an object's members without JSON around them:
//
//   <parameter=city>
//   Oslo
//   </parameter>
//
// A value. Threads: any.
#pragma once

#include <string>

namespace pc::constrain {

// With white space, and control tokens as Vocabulary::with_controls marks them.
struct MemberWords {
  std::string key_open, key_close, value_close;
};

}  // namespace pc::constrain
