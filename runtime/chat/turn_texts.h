// What a chat template writes around the turns of a conversation, found by
// rendering it with marks for contents and looking between the marks.
//
// The strings hold for these roles in this order: a template may treat the first
// turn, the last, or one behind a system turn in its own way. They are checked:
// other marks give the same strings, and white space at the ends of contents is
// kept, or stripped at the ends that are said to be. A template that puts contents
// elsewhere, repeats, drops or changes them is refused here, and still renders
// whole conversations. What a template does with special words inside a content
// ("</think>", "/no_think") is not seen.
//
// Pure. Threads: any.
#pragma once

#include <span>

#include "base/status.h"
#include "pml/schema.h"  // Role
#include "pml/text_encoder.h"
#include "runtime/chat/chat_program.h"

namespace pc {

// `options`: the clock and the variables count, add_generation_prompt does not.
//
// Where a turn closes and the next one opens: a turn's closing is what the
// template writes behind it when the conversation ends there, if that is how the
// text between the two begins; else all of that text is the first turn's closing.
// Where a template ends a conversation otherwise than it opens an answer (Phi-3: an
// end token), an assistant's last turn closes as the conversation ends, and no answer
// opens; of another last turn the closing is "", and `answer` is all that follows it.
//
// Errors: kUnsupported (which turn the template does what with), and those of
// ChatProgram::render, in the template's own words where it has some.
Result<pml::TurnTexts> turn_texts(const ChatProgram& program, std::span<const pml::Role> turns,
                                  const ChatOptions& options);

}  // namespace pc
