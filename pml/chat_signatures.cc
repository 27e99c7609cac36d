// How a model's template is told apart: by what its shape must and must not hold.
#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "pml/chat_template.h"
#include "pml/jinja_shape.h"

namespace pc::pml {
namespace {

using Strings = std::vector<std::string_view>;

struct Signature {
  std::string_view name;
  std::vector<Strings> has;  // one of each
  Strings lacks;             // and no marker below that `has` does not name
};

// \1, \2 and \3 are the marks of a shape: a value, bos_token, eos_token.
static_assert(kValueMark == '\1' && kBosMark == '\2' && kEosMark == '\3');

// What opens or ends a turn in some format: a template that spells two formats
// is neither.
constexpr std::string_view kMarkers[] = {
    "<|im_start|>",
    "<|im_sep|>",
    "<|start_header_id|>",
    "<|start_of_role|>",
    "<start_of_turn>",
    "<|user|>",
    "<|\1|>",
    "<|end|>",
    "[INST]",
    "<<SYS>>",
    "[SYSTEM_PROMPT]",
    "[AVAILABLE_TOOLS]",
    "USER: \1",
    "\nUser: \1",
    "### Instruction:\n",
};

std::vector<Signature> token_formats() {
  return {
      {"chatml",
       {{"<|im_start|>\1\n", "<|im_start|>assistant\n"}, {"<|im_end|>\n", "\n<|im_start|>"}},
       {"<|im_middle|>", "<|im_user|>", "/system_override"}},
      {"smollm3", {{"<|im_start|>system\n"}, {"<|im_end|>\n"}, {"/system_override"}}, {}},
      {"llama3", {{"<|start_header_id|>"}, {"<|end_header_id|>\n\n"}, {"<|eot_id|>"}}, {}},
      {"gemma",
       {{"<start_of_turn>"}, {"<end_of_turn>\n"}, {"model"}},
       {"<start_of_turn>developer"}},
      {"phi4",
       {{"<|im_start|>user<|im_sep|>", "<|im_start|>\1<|im_sep|>"}, {"<|im_end|>"}},
       {"<|im_middle|>", "<|im_end|>\n", "\n<|im_start|>"}},
      {"granite", {{"<|start_of_role|>"}, {"<|end_of_role|>"}, {"<|end_of_text|>\n"}}, {}},
      {"mistral-v3",
       {{"[INST] \1[/INST]"}, {"\1\3"}, {"[AVAILABLE_TOOLS]", "[INST]"}},
       {"\1 [/INST]", "[INST]\1"}},
      {"mistral-tekken",
       {{"[INST]\1[/INST]"}, {"\1\3"}, {"[AVAILABLE_TOOLS]", "[INST]"}},
       {"[INST] "}},
      {"mistral-v7",
       {{"[SYSTEM_PROMPT] \1[/SYSTEM_PROMPT]"},
        {"[INST] \1[/INST]"},
        {"\1\3"},
        {"[AVAILABLE_TOOLS]", "[INST]"}},
       {"\1 [/INST]", "[INST]\1", "\1\n\n\1"}},
      {"mistral-v7-tekken",
       {{"[SYSTEM_PROMPT]\1[/SYSTEM_PROMPT]"},
        {"[INST]\1[/INST]"},
        {"\1\3"},
        {"[AVAILABLE_TOOLS]", "[INST]"}},
       {"[INST] ", "\1\n\n\1"}},
  };
}

// The formats that open a turn with <|role|>.
std::vector<Signature> bar_formats() {
  return {
      {"zephyr",
       {{"<|user|>\n\1\3", "<|\1|>\n\1\3"}, {"<|assistant|>"}, {"\3\n"}},
       {"<|user|>\n\1\n"}},
      {"phi3",
       {{"<|user|>\n\1<|end|>\n", "<|\1|>\n\1<|end|>\n"}, {"<|assistant|>\n"}},
       {"\3\n", "|>\1<|end|>"}},
      {"phi4-mini", {{"<|\1|>\1"}, {"\1<|end|>"}, {"<|assistant|>"}}, {"|>\n"}},
      {"olmo", {{"\2"}, {"<|user|>\n\1\n"}, {"<|assistant|>\n\1"}, {"\3"}}, {"<|user|>\n\1\3"}},
      {"falcon3", {{"<|user|>\n\1\n"}, {"<|assistant|>\n\1"}, {"\3"}}, {"\2", "<|user|>\n\1\3"}},
      {"city-guide",
       {{"<|system|>\1"}, {"<|user|>\1"}, {"<|assistant|>\1"}, {"\1<|end|>"}},
       {"|>\n", "\3"}},
  };
}

std::vector<Signature> text_formats() {
  return {
      {"llama2",
       {{"<<SYS>>\n"}, {"\n<</SYS>>\n\n"}, {"\2[INST] "}, {"\1 [/INST]"}, {"\1 \3"}},
       {"\1[/INST]", "\1[INST] \1", " [INST] \1"}},
      {"mistral-v1",
       {{"[INST] \1 [/INST]", "[INST] \1\n\n\1 [/INST]"}, {"\1\3"}},
       {"\2[INST]", "\1[/INST]"}},
      {"falcon", {{"\n\nUser: \1"}, {"\n\nAssistant: \1"}, {"\n\nAssistant:"}}, {"\3"}},
      {"vicuna",
       {{"USER: \1 "}, {"ASSISTANT: \1\3", "ASSISTANT: \1</s>"}, {"ASSISTANT:"}},
       {"\3\n", "</s>\n"}},
      {"alpaca", {{"### Instruction:\n\1\n\n"}, {"### Response:\n\1\3\n\n"}}, {"<|EOT|>"}},
  };
}

const std::vector<Signature>& signatures() {
  static const std::vector<Signature> all = [] {
    std::vector<Signature> joined = token_formats();
    for (const auto& more : {bar_formats(), text_formats()})
      joined.insert(joined.end(), more.begin(), more.end());
    return joined;
  }();
  return all;
}

bool fits(const Signature& signature, std::string_view shape) {
  const auto holds = [&](std::string_view s) { return shape.find(s) != shape.npos; };
  const auto holds_one = [&](const Strings& of) {
    return std::any_of(of.begin(), of.end(), holds);
  };
  const auto foreign = [&](std::string_view marker) {
    if (!holds(marker)) return false;
    for (const Strings& one : signature.has)
      for (const std::string_view s : one)
        if (s.find(marker) != s.npos) return false;
    return true;
  };
  return std::all_of(signature.has.begin(), signature.has.end(), holds_one) &&
         !holds_one(signature.lacks) &&
         std::none_of(std::begin(kMarkers), std::end(kMarkers), foreign);
}

}  // namespace

std::optional<ChatTemplate> recognise_chat_template(std::string_view jinja) {
  const std::string shape = jinja_shape(jinja);
  const Signature* found = nullptr;
  for (const Signature& signature : signatures()) {
    if (!fits(signature, shape)) continue;
    if (found) return std::nullopt;
    found = &signature;
  }
  if (!found) return std::nullopt;
  return find_chat_template(found->name);
}

}  // namespace pc::pml
