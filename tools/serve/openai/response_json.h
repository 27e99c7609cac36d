// Responses and their items, as OpenAI's protocol writes them.
//
// Pure. Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/serve/answer/answer_sink.h"
#include "tools/serve/answer/gathered_answers.h"

namespace pc::serve {

// The names that the items of one response have; of calls as many as it has.
struct ResponseNames {
  std::string response, message;
  std::vector<std::string> calls;
};

enum class ItemStatus { kInProgress, kCompleted, kIncomplete };

// {"type": "output_text", ...}
Json text_part(const std::string& text, const Json& logprobs);

// content: a list, of one part.
Json message_item(const std::string& id, const Json& content, ItemStatus status);
Json call_item(const std::string& id, const MadeCall& made, const std::string& arguments,
               ItemStatus status);

// All items of an answer: its text, unless it has calls alone, then the calls. has_logprobs: those
// of its tokens are wanted.
Json output_items(const GatheredAnswer& answer, const ResponseNames& names, bool has_logprobs);

// The answer as the next request's conversation has it: a message as templates take it.
Json answer_message(const GatheredAnswer& answer);

Json responses_usage(const Usage& usage);

}  // namespace pc::serve
