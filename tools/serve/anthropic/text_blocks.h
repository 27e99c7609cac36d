// Blocks of Anthropic's protocol that are text for a model: texts, documents and results of
// searches, wherever in a conversation they stand.
//
// All throw ApiError, which names the block. Pure. Threads: any.
#pragma once

#include <string>

#include "tools/serve/request/content_parts.h"

namespace pc::serve {

// A block of "text", "document" or "search_result" as one part; others are refused by their type.
// A document's title and context stand before its text, each on a line of its own, as do a result's
// title and source.
void add_text_block(Fields& block, ContentParts* parts);

// The text of a field that is a string, or a list of such blocks. is_system: what stands there for
// the provider is left out.
ContentParts text_blocks(Fields& around, const char* name, bool is_system = false);

}  // namespace pc::serve
