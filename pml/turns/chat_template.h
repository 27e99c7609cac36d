// The chat formats that promptcache knows by name: for models whose files bring
// no template of their own. docs/CHAT_TEMPLATES.md lists them.
//
// Constant data. Threads: any.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pml/syntax/place.h"
#include "pml/syntax/role.h"
#include "pml/turns/text_encoder.h"  // ChatFormat

namespace pc::pml {

// The strings around a turn. They may spell control tokens ("<|im_start|>user\n").
struct RoleStrings {
  std::string prefix;
  std::string suffix;
};

// A model family's chat format, reduced to what concatenation can express: the
// strings around each role's text. Two families open the user's turn
// differently after a system or an assistant turn (Llama 2 puts the system
// text inside the first user turn), hence the two extra prefixes.
struct ChatTemplate {
  std::string name;  // "chatml"
  RoleStrings system, user, assistant;
  std::optional<std::string> user_prefix_after_system;  // instead of user.prefix
  std::optional<std::string> user_prefix_after_assistant;
  std::string generation_prefix;  // opens the assistant's turn to be generated
  // The model's end-of-sequence token, where the suffixes spell it.
  std::string eos = {};
  // A chat begins with BOS, also where the tokenizer adds none to a text.
  bool bos = false;
};

// The format as PML asks for it.
ChatFormat chat_format(ChatTemplate chat);

// The format for a tokenizer that begins no text with BOS: where a chat begins with it, the
// first turn's opening spells it, as in the text that the model's publisher renders. A prompt
// without turns has none. `bos`: BOS as the tokenizer spells it.
ChatFormat spell_bos(ChatFormat chat, std::string bos);

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

}  // namespace pc::pml
