// A request in one of OpenAI's two protocols of completions. A value.
#pragma once

#include "tools/serve/request/question.h"

namespace pc::serve {

struct OpenAiRequest {
  Question question;
  bool streams = false, includes_usage = false;
  bool returns_progress = false;  // in a stream: how much of the prompt is there
};

}  // namespace pc::serve
