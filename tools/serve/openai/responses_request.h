// The body of POST /v1/responses: OpenAI's newer protocol of conversations, which the server may
// remember.
//
// Pure. Threads: any.
#pragma once

#include <string>

#include "tools/serve/request/fields.h"
#include "tools/serve/request/question.h"

namespace pc::serve {

struct ResponsesRequest {
  Question question;  // its conversation is go_on()'s to make
  bool streams = false, stores = true;
  std::string previous;  // the response that this one follows; "": none
  Json instructions;     // null, or a text that is not remembered
  Json conversation;     // messages, without the instructions: first those of the input alone
  Json tools;            // as templates take them, or null
  Json variables;        // what the template is told, or null
  Json echo;             // what the response repeats of its request
};

// Throws ApiError.
ResponsesRequest read_responses(const Json& body, const ModelFacts& model);

// Makes the question of it, behind the messages of a conversation before; a list.
void go_on(const Json& earlier, ResponsesRequest* request);

}  // namespace pc::serve
