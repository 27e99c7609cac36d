// Responses and their items, as OpenAI's protocol writes them.
//
// Pure. Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/serve/answer/gathered_answers.h"

namespace pc::serve {

enum class ItemStatus { kInProgress, kCompleted, kIncomplete };

// One part of an item's content: {"type": "output_text", ...}, or of a thought.
Json text_part(const std::string& text, const Json& logprobs);
Json thought_part(const std::string& text);

// The name of an item that this block is.
std::string new_item_name(const Block& block);

// The item that a block is; has_content: with what it says, else as it is announced.
Json item_json(const std::string& id, const Block& block, const Json& logprobs, bool has_content,
               ItemStatus status);

// The answer as the next request's conversation has it: a message as templates take it.
Json answer_message(const GatheredAnswer& answer);

Json responses_usage(const Usage& usage);

}  // namespace pc::serve
