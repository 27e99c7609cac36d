// A request in Ollama's protocol. A value.
#pragma once

#include "tools/serve/request/question.h"

namespace pc::serve {

struct OllamaRequest {
  Question question;
  bool streams = true;
  bool is_chat = true;         // answers are messages, and else texts
  bool is_empty = false;       // nothing is asked: the model is to be loaded, which it is
  bool wants_thought = false;  // of a model that has none it is refused
};

}  // namespace pc::serve
