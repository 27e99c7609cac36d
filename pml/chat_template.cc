#include "pml/chat_template.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

namespace pc::pml {
namespace {

// Families without a turn for the system text put it in front of the first
// user's: their system turn opens the user's, which then has no prefix left.
const std::vector<ChatTemplate>& table() {
  static const std::vector<ChatTemplate> templates = {
      {"chatml",
       {"<|im_start|>system\n", "<|im_end|>\n"},
       {"<|im_start|>user\n", "<|im_end|>\n"},
       {"<|im_start|>assistant\n", "<|im_end|>\n"},
       {},
       {},
       "<|im_start|>assistant\n"},
      {"llama2",
       {"[INST] <<SYS>>\n", "\n<</SYS>>\n\n"},
       {"[INST] ", " [/INST]"},
       {" ", " </s>"},
       "",
       "<s>[INST] ",
       ""},
      {"llama3",
       {"<|start_header_id|>system<|end_header_id|>\n\n", "<|eot_id|>"},
       {"<|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|>"},
       {"<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>"},
       {},
       {},
       "<|start_header_id|>assistant<|end_header_id|>\n\n"},
      {"mistral", {"[INST] ", "\n\n"}, {"[INST] ", " [/INST]"}, {"", "</s>"}, "", {}, ""},
      {"zephyr",
       {"<|system|>\n", "</s>\n"},
       {"<|user|>\n", "</s>\n"},
       {"<|assistant|>\n", "</s>\n"},
       {},
       {},
       "<|assistant|>\n"},
      {"gemma",
       {"<start_of_turn>user\n", "\n\n"},
       {"<start_of_turn>user\n", "<end_of_turn>\n"},
       {"<start_of_turn>model\n", "<end_of_turn>\n"},
       "",
       {},
       "<start_of_turn>model\n"},
      {"phi3",
       {"<|system|>\n", "<|end|>\n"},
       {"<|user|>\n", "<|end|>\n"},
       {"<|assistant|>\n", "<|end|>\n"},
       {},
       {},
       "<|assistant|>\n"},
      {"city-guide",
       {"<|system|>", "<|end|>"},
       {"<|user|>", "<|end|>"},
       {"<|assistant|>", "<|end|>"},
       {},
       {},
       "<|assistant|>"},
  };
  return templates;
}

// A template is known by strings that it must and must not spell.
struct Signature {
  std::string_view name;
  std::vector<std::string_view> has, lacks;
};

const std::vector<Signature>& signatures() {
  static const std::vector<Signature> all = {
      {"chatml",
       {"<|im_start|>", "<|im_end|>"},
       {"<|im_sep|>", "<|im_middle|>", "<|im_user|>", "[INST]"}},
      {"llama2", {"<<SYS>>\n", "bos_token + [INST] ", " [/INST]"}, {"[AVAILABLE_TOOLS]"}},
      {"llama3", {"<|start_header_id|>", "<|end_header_id|>\n\n", "<|eot_id|>"}, {}},
      {"mistral",
       {"[INST] ", " [/INST]"},
       {"<<SYS>>", "[AVAILABLE_TOOLS]", "[SYSTEM_PROMPT]", "<|im_start|>"}},
      {"zephyr",
       {"<|system|>\n", "<|user|>\n", "<|assistant|>", "eos_token"},
       {"<|end|>", "<|im_start|>"}},
      {"gemma", {"<start_of_turn>", "<end_of_turn>\n", "model"}, {}},
      {"phi3", {"<|end|>\n", "<|assistant|>\n"}, {"\n<|end|>", "<|im_start|>"}},
      {"city-guide", {"<|system|>", "<|user|>", "<|assistant|>", "<|end|>"}, {"|>\n", "eos_token"}},
  };
  return all;
}

// Jinja spells line ends as '\n' inside its strings, and glues strings with
// '+'. Without the quotes and the glue what is written together stands together.
std::string spelled(std::string_view jinja) {
  std::string out;
  for (std::size_t i = 0; i < jinja.size(); ++i) {
    const char c = jinja[i];
    if (c == '\\' && i + 1 < jinja.size() && jinja[i + 1] == 'n') {
      out += '\n';
      ++i;
    } else if (c == '\'' || c == '"') {
      // A string that ends here and goes on after ` + `: one string.
      std::size_t next = jinja.find_first_not_of(' ', i + 1);
      if (next != jinja.npos && jinja[next] == '+') {
        next = jinja.find_first_not_of(' ', next + 1);
        if (next != jinja.npos && (jinja[next] == '\'' || jinja[next] == '"')) i = next;
      }
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::span<const ChatTemplate> chat_templates() {
  return table();
}

std::optional<ChatTemplate> find_chat_template(std::string_view name) {
  for (const ChatTemplate& chat : table())
    if (chat.name == name) return chat;
  return std::nullopt;
}

std::string chat_template_names() {
  std::string names;
  for (const ChatTemplate& chat : table()) names += (names.empty() ? "" : ", ") + chat.name;
  return names;
}

std::string role_prefix(const ChatTemplate& chat, Role role, std::optional<Role> before) {
  switch (role) {
    case Role::kSystem: return chat.system.prefix;
    case Role::kAssistant: return chat.assistant.prefix;
    case Role::kUser: break;
  }
  if (before == Role::kSystem && chat.user_prefix_after_system)
    return *chat.user_prefix_after_system;
  if (before == Role::kAssistant && chat.user_prefix_after_assistant)
    return *chat.user_prefix_after_assistant;
  return chat.user.prefix;
}

std::string role_suffix(const ChatTemplate& chat, Role role) {
  switch (role) {
    case Role::kSystem: return chat.system.suffix;
    case Role::kAssistant: return chat.assistant.suffix;
    case Role::kUser: break;
  }
  return chat.user.suffix;
}

Error missing_chat_template(Place place, Role role) {
  return broken_rule(place, "<" + std::string(role_name(role)) +
                                "> needs the model's chat format, which is "
                                "not known; name it: " +
                                chat_template_names());
}

std::optional<ChatTemplate> recognise_chat_template(std::string_view jinja) {
  const std::string text = spelled(jinja);
  const auto spells = [&](std::string_view s) { return text.find(s) != text.npos; };
  std::optional<ChatTemplate> found;
  for (const Signature& signature : signatures()) {
    if (!std::all_of(signature.has.begin(), signature.has.end(), spells)) continue;
    if (std::any_of(signature.lacks.begin(), signature.lacks.end(), spells)) continue;
    if (found) return std::nullopt;
    found = find_chat_template(signature.name);
  }
  return found;
}

}  // namespace pc::pml
