// A request in the native protocol of llama.cpp's server. A value.
#pragma once

#include "tools/serve/request/question.h"

namespace pc::serve {

struct LlamaRequest {
  Question question;
  bool streams = false, returns_progress = false;
  bool returns_tokens = false;  // their numbers, in a whole answer; a stream has them always
  bool is_list = false;         // and so is the answer
};

}  // namespace pc::serve
