// The chat formats that promptcache knows by name, and how to tell from a
// model's Jinja template which of them it is. Templates are never executed.
// docs/CHAT_TEMPLATES.md lists the formats, and what a publisher's template
// does that strings around turns cannot.
//
// Constant data. Threads: any.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pml/place.h"
#include "pml/schema.h"        // Role
#include "pml/text_encoder.h"  // ChatTemplate

namespace pc::pml {

std::span<const ChatTemplate> chat_templates();

// By the format's name, or by another name of it ("mistral", "mpt").
std::optional<ChatTemplate> find_chat_template(std::string_view name);

// Their names, for messages: "chatml, llama2, ...".
std::string chat_template_names();

// The format with the model's own end-of-sequence token, as its tokenizer
// spells it, in place of the family's. "" leaves the format as it is.
ChatTemplate with_eos(ChatTemplate chat, std::string_view eos);

// What opens and closes a turn of this role; `before` is the role of the turn
// before it, if any.
std::string role_prefix(const ChatTemplate& chat, Role role, std::optional<Role> before);
std::string role_suffix(const ChatTemplate& chat, Role role);

// The error of a role element where TextEncoder::chat is empty.
Error missing_chat_template(Place place, Role role);

// The format whose strings the template spells; nullopt when none or more than
// one fits, since a guessed format gives plausible but wrong answers.
std::optional<ChatTemplate> recognise_chat_template(std::string_view jinja);

}  // namespace pc::pml
