// Where each tool of a conversation stands in the text that a template makes of it.
//
// Borrows what renders. Pure. Threads: any.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/chat/whole/chat_text.h"
#include "runtime/chat/whole/text_marks.h"
#include "runtime/jinja/values/value.h"

namespace pc {

// The template's text of the same conversation with these tools.
using RenderTools = std::function<Result<Unmarked>(const std::vector<jinja::Value>& tools)>;

// [tools] the bytes of each in `text`, which the template writes with these tools. A tool's bytes
// are the same wherever it stands among others: what stands between two is in neither, or in
// each of them. Found by marks in front of the tools' names, whose texts before them begin alike,
// and by what another tool behind the last would change. `first_mark`: of tools.size() + 1.
// Errors: kUnsupported, in words behind "the chat template ".
Result<std::vector<TextRange>> tool_ranges(const std::vector<jinja::Value>& tools,
                                           const std::string& text, const TextMarks& marks,
                                           std::size_t first_mark, const RenderTools& render);

}  // namespace pc
