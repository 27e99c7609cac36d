#include "pml/turns/chat_template.h"

#include <utility>
#include <vector>

namespace pc::pml {
namespace {

// A turn of every role opened and closed by the same strings around its name.
ChatTemplate uniform(std::string name, const std::string& before, const std::string& after,
                     const std::string& suffix) {
  const auto turn = [&](const char* role) { return RoleStrings{before + role + after, suffix}; };
  return {std::move(name),
          turn("system"),
          turn("user"),
          turn("assistant"),
          {},
          {},
          before + "assistant" + after};
}

// Mistral's formats. The system text has no turn of its own in the older ones:
// its turn opens the user's that follows, which then has no prefix left.
ChatTemplate mistral(std::string name, const std::string& open, const std::string& close,
                     const std::string& answer) {
  return {
      std::move(name), {open, "\n\n"}, {open, close}, {answer, "</s>"}, "", {}, "", "</s>", true};
}

ChatTemplate mistral_v7(std::string name, const std::string& space) {
  return {std::move(name),
          {"[SYSTEM_PROMPT]" + space, "[/SYSTEM_PROMPT]"},
          {"[INST]" + space, "[/INST]"},
          {space, "</s>"},
          {},
          {},
          "",
          "</s>",
          true};
}

// Tulu's format: only the assistant's turn is ended by a token.
ChatTemplate tulu(std::string name, bool bos) {
  return {std::move(name),
          {"<|system|>\n", "\n"},
          {"<|user|>\n", "\n"},
          {"<|assistant|>\n", "<|endoftext|>\n"},
          {},
          {},
          "<|assistant|>\n",
          "<|endoftext|>",
          bos};
}

std::vector<ChatTemplate> one_prefix_families() {
  ChatTemplate llama3 =
      uniform("llama3", "<|start_header_id|>", "<|end_header_id|>\n\n", "<|eot_id|>");
  llama3.bos = true;
  ChatTemplate zephyr = uniform("zephyr", "<|", "|>\n", "</s>\n");
  zephyr.eos = "</s>";
  ChatTemplate smollm3_no_think = uniform("smollm3-no-think", "<|im_start|>", "\n", "<|im_end|>\n");
  smollm3_no_think.assistant.prefix += "<think>\n\n</think>\n";
  smollm3_no_think.generation_prefix += "<think>\n\n</think>\n";
  return {
      uniform("chatml", "<|im_start|>", "\n", "<|im_end|>\n"),
      std::move(llama3),
      std::move(zephyr),
      uniform("phi3", "<|", "|>\n", "<|end|>\n"),
      uniform("phi4", "<|im_start|>", "<|im_sep|>", "<|im_end|>"),
      uniform("phi4-mini", "<|", "|>", "<|end|>"),
      uniform("granite", "<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>\n"),
      uniform("smollm3", "<|im_start|>", "\n", "<|im_end|>\n"),
      std::move(smollm3_no_think),
      uniform("city-guide", "<|", "|>", "<|end|>"),
  };
}

std::vector<ChatTemplate> other_families() {
  return {
      {"llama2",
       {"[INST] <<SYS>>\n", "\n<</SYS>>\n\n"},
       {"[INST] ", " [/INST]"},
       {" ", " </s>"},
       "",
       "<s>[INST] ",
       "",
       "</s>",
       true},
      mistral("mistral-v1", " [INST] ", " [/INST]", " "),
      mistral("mistral-v3", "[INST] ", "[/INST]", " "),
      mistral("mistral-tekken", "[INST]", "[/INST]", ""),
      mistral_v7("mistral-v7", " "),
      mistral_v7("mistral-v7-tekken", ""),
      {"gemma",
       {"<start_of_turn>user\n", "\n\n"},
       {"<start_of_turn>user\n", "<end_of_turn>\n"},
       {"<start_of_turn>model\n", "<end_of_turn>\n"},
       "",
       {},
       "<start_of_turn>model\n",
       "",
       true},
      tulu("olmo", true),
      tulu("falcon3", false),
      {"falcon", {}, {"\n\nUser: ", ""}, {"\n\nAssistant: ", ""}, {}, {}, "\n\nAssistant:"},
      // A space between turns belongs to the turn that it opens: at the end of a
      // string it would be left to a text, and markup follows.
      {"vicuna",
       {},
       {"USER: ", ""},
       {" ASSISTANT: ", "</s>"},
       " USER: ",
       {},
       " ASSISTANT:",
       "</s>",
       true},
      {"alpaca",
       {"", "\n\n"},
       {"### Instruction:\n", "\n\n"},
       {"### Response:\n", "</s>\n\n"},
       {},
       {},
       "### Response:\n",
       "</s>",
       true},
  };
}

const std::vector<ChatTemplate>& table() {
  static const std::vector<ChatTemplate> templates = [] {
    std::vector<ChatTemplate> all = one_prefix_families();
    for (ChatTemplate& chat : other_families()) all.push_back(std::move(chat));
    return all;
  }();
  return templates;
}

struct Alias {
  std::string_view other, name;
};
constexpr Alias kAliases[] = {{"mistral", "mistral-v1"}, {"mpt", "chatml"}};

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
    text.replace(at, from.size(), to);
}

}  // namespace

std::span<const ChatTemplate> chat_templates() {
  return table();
}

std::optional<ChatTemplate> find_chat_template(std::string_view name) {
  for (const Alias& alias : kAliases)
    if (alias.other == name) name = alias.name;
  for (const ChatTemplate& chat : table())
    if (chat.name == name) return chat;
  return std::nullopt;
}

std::string chat_template_names() {
  std::string names;
  for (const ChatTemplate& chat : table()) names += (names.empty() ? "" : ", ") + chat.name;
  return names;
}

ChatTemplate with_eos(ChatTemplate chat, std::string_view eos) {
  if (chat.eos.empty() || eos.empty()) return chat;
  for (std::string* text : {&chat.system.suffix, &chat.user.suffix, &chat.assistant.suffix})
    replace_all(*text, chat.eos, eos);
  chat.eos = eos;
  return chat;
}

std::string role_prefix(const ChatTemplate& chat, Role role, std::optional<Role> before) {
  switch (role) {
    case Role::kSystem:
      return chat.system.prefix;
    case Role::kAssistant:
      return chat.assistant.prefix;
    case Role::kUser:
      break;
  }
  if (before == Role::kSystem && chat.user_prefix_after_system)
    return *chat.user_prefix_after_system;
  if (before == Role::kAssistant && chat.user_prefix_after_assistant)
    return *chat.user_prefix_after_assistant;
  return chat.user.prefix;
}

std::string role_suffix(const ChatTemplate& chat, Role role) {
  switch (role) {
    case Role::kSystem:
      return chat.system.suffix;
    case Role::kAssistant:
      return chat.assistant.suffix;
    case Role::kUser:
      break;
  }
  return chat.user.suffix;
}

ChatFormat chat_format(ChatTemplate chat) {
  const std::string name = chat.name;
  const auto turns = [chat = std::move(chat)](std::span<const Role> roles) -> Result<TurnTexts> {
    TurnTexts texts;
    std::optional<Role> before;
    for (const Role role : roles) {
      texts.turns.push_back({role_prefix(chat, role, before), role_suffix(chat, role)});
      before = role;
    }
    texts.answer = chat.generation_prefix;
    texts.bos = chat.bos;
    return texts;
  };
  return {name, turns};
}

ChatFormat spell_bos(ChatFormat chat, std::string bos) {
  chat.turns = [turns = std::move(chat.turns),
                bos = std::move(bos)](std::span<const Role> roles) -> Result<TurnTexts> {
    PC_TRY(TurnTexts texts, turns(roles));
    if (texts.bos && !texts.turns.empty()) texts.turns[0].open.insert(0, bos);
    texts.bos = false;
    return texts;
  };
  return chat;
}

Error missing_chat_template(Place place, Role role) {
  return broken_rule(place, "<" + std::string(role_name(role)) +
                                "> needs the model's chat format, which its files do not tell; "
                                "name it (--chat-template NAME: " +
                                chat_template_names() +
                                "), or give its strings in a file (--chat-template FILE.json)");
}

}  // namespace pc::pml
