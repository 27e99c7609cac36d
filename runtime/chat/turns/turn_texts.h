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
// Pure, but for what it is given to remember. Threads: any.
#pragma once

#include <span>

#include "base/status.h"
#include "pml/syntax/schema.h"  // Role
#include "pml/turns/text_encoder.h"
#include "runtime/chat/program/chat_program.h"
#include "runtime/chat/turns/remembered_endings.h"

namespace pc {

// `options`: the clock and the variables count, add_generation_prompt does not.
//
// Where a turn closes and the next one opens: a turn's closing is what the
// template writes behind it both when the conversation ends there and when it goes
// on, up to the end of a line or a tag where the two part; all that is between two
// turns where they share nothing. (Phi-3 ends a conversation with another token than
// a turn.) An assistant's last turn closes as the conversation ends; where the
// template does not open an answer behind that, `answer` is "".
//
// Errors: kUnsupported (which turn the template does what with; more than 2048 turns,
// since the work grows with their square), and those of ChatProgram::render, in the
// template's own words where it has some.
//
// Renders the conversation six times and each shorter beginning of it twice, less what
// `remembered` knows: endings of this program with these options alone. The strings are
// the same whatever it holds.
Result<pml::TurnTexts> turn_texts(const ChatProgram& program, std::span<const pml::Role> turns,
                                  const ChatOptions& options, RememberedEndings* remembered);

// Remembers nothing.
Result<pml::TurnTexts> turn_texts(const ChatProgram& program, std::span<const pml::Role> turns,
                                  const ChatOptions& options);

}  // namespace pc
