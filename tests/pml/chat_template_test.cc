#include "pml/chat_template.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

using namespace pc::pml;

namespace {

// system, user, assistant, user, and the opening of the answer.
std::string conversation(const ChatTemplate& chat) {
  std::string out;
  std::optional<Role> before;
  for (const auto& [role, text] : std::vector<std::pair<Role, std::string>>{
           {Role::kSystem, "S"}, {Role::kUser, "U"}, {Role::kAssistant, "A"}, {Role::kUser, "V"}}) {
    out += role_prefix(chat, role, before) + text + role_suffix(chat, role);
    before = role;
  }
  return out + chat.generation_prefix;
}

std::string recognised(const std::string& jinja) {
  const auto chat = recognise_chat_template(jinja);
  return chat ? chat->name : "none";
}

}  // namespace

// All formats: tests/runtime/chat_template_golden_test.cc.
TEST_CASE("a conversation in some of the formats") {
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"chatml",
       "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\nA<|"
       "im_end|>\n"
       "<|im_start|>user\nV<|im_end|>\n<|im_start|>assistant\n"},
      {"llama2", "[INST] <<SYS>>\nS\n<</SYS>>\n\nU [/INST] A </s><s>[INST] V [/INST]"},
      {"llama3",
       "<|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|><|start_header_id|>user<|end_"
       "header_id|>\n\nU<|eot_id|>"
       "<|start_header_id|>assistant<|end_header_id|>\n\nA<|eot_id|><|start_header_id|>user<|end_"
       "header_id|>\n\nV<|eot_id|>"
       "<|start_header_id|>assistant<|end_header_id|>\n\n"},
      {"mistral-v1", " [INST] S\n\nU [/INST] A</s> [INST] V [/INST]"},
      {"zephyr",
       "<|system|>\nS</s>\n<|user|>\nU</s>\n<|assistant|>\nA</s>\n<|user|>\nV</"
       "s>\n<|assistant|>\n"},
      {"gemma",
       "<start_of_turn>user\nS\n\nU<end_of_turn>\n<start_of_turn>model\nA<end_of_turn>\n"
       "<start_of_turn>user\nV<end_of_turn>\n<start_of_turn>model\n"},
      {"phi3",
       "<|system|>\nS<|end|>\n<|user|>\nU<|end|>\n<|assistant|>\nA<|end|>\n<|user|>\nV<|end|>\n<|"
       "assistant|>\n"},
      {"city-guide",
       "<|system|>S<|end|><|user|>U<|end|><|assistant|>A<|end|><|user|>V<|end|><|assistant|>"},
  };
  for (const auto& [name, text] : expected) {
    INFO(name);
    const auto chat = find_chat_template(name);
    REQUIRE(chat);
    CHECK(conversation(*chat) == text);
  }
  CHECK_FALSE(find_chat_template("chat-ml"));
  CHECK_FALSE(find_chat_template(""));
}

TEST_CASE("every format has one name, and some have another") {
  std::string names;
  for (const ChatTemplate& chat : chat_templates()) {
    INFO(chat.name);
    const auto found = find_chat_template(chat.name);
    REQUIRE(found);
    CHECK(found->user.prefix == chat.user.prefix);
    CHECK(found->generation_prefix == chat.generation_prefix);
    names += (names.empty() ? "" : ", ") + chat.name;
  }
  CHECK(chat_template_names() == names);
  CHECK(find_chat_template("mistral")->name == "mistral-v1");
  CHECK(find_chat_template("mpt")->name == "chatml");
}

TEST_CASE("a model's own end-of-sequence token stands in for the family's") {
  const ChatTemplate zephyr = *find_chat_template("zephyr");
  CHECK(with_eos(zephyr, "<|endoftext|>").user.suffix == "<|endoftext|>\n");
  CHECK(with_eos(zephyr, "<|endoftext|>").user.prefix == zephyr.user.prefix);
  CHECK(with_eos(zephyr, "").user.suffix == "</s>\n");
  CHECK(with_eos(with_eos(zephyr, "<e>"), "<f>").assistant.suffix == "<f>\n");
  // Formats that end a turn with a token of their own keep it.
  CHECK(with_eos(*find_chat_template("chatml"), "</s>").user.suffix == "<|im_end|>\n");
}

TEST_CASE("a role without a format: the error says what to pass") {
  const pc::Error error = missing_chat_template({}, Role::kUser);
  CHECK_THAT(error.message, Catch::Matchers::Contains("<user> needs the model's chat format"));
  CHECK_THAT(error.message, Catch::Matchers::Contains("--chat-template NAME"));
  CHECK_THAT(error.message, Catch::Matchers::Contains(chat_template_names()));
  CHECK_THAT(error.message, Catch::Matchers::Contains("--chat-template FILE.json"));
}

TEST_CASE("a template is recognised by the strings it spells, however it spells them") {
  const std::string each = "{% for m in messages %}", end = "{% endfor %}";
  CHECK(recognised(each +
                   R"({{'<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' + '\n'}})" +
                   end) == "chatml");
  CHECK(recognised(each + "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n" + end) ==
        "chatml");
  CHECK(
      recognised(
          R"({% set c = '<<SYS>>\n' + s + '\n<</SYS>>\n\n' + m %}{{ bos_token + '[INST] ' + c.strip() + ' [/INST]' }}{{ ' ' + m + ' ' + eos_token }})") ==
      "llama2");
  CHECK(
      recognised(
          each +
          R"({% set c = '<|start_header_id|>' + m['role'] + '<|end_header_id|>\n\n'+ m['content'] | trim + '<|eot_id|>' %})" +
          end) == "llama3");
  CHECK(recognised(each +
                   R"({{ '[INST] ' + m['content'] + ' [/INST]' }}{{ m['content'] + eos_token}})" +
                   end) == "mistral-v1");
  CHECK(
      recognised(
          each +
          R"({{- ' [INST] ' + s + '\n\n' + m['content'] + ' [/INST]' }}{{- ' ' + m['content'] + eos_token}})" +
          end) == "mistral-v1");
  CHECK(recognised(each +
                   "{{ '<|user|>\\n' + m['content'] + eos_token }}\n{{ '<|system|>\\n' + "
                   "m['content'] + eos_token }}\n"
                   "{{ '<|assistant|>\\n'  + m['content'] + eos_token }}{{ '<|assistant|>' }}" +
                   end) == "zephyr");
  CHECK(
      recognised(
          each +
          R"({% set r = 'model' %}{{ '<start_of_turn>' + r + '\n' + m | trim + '<end_of_turn>\n' }})" +
          end) == "gemma");
  CHECK(recognised(
            each +
            R"({{'<|user|>' + '\n' + m['content'] + '<|end|>' + '\n' + '<|assistant|>' + '\n'}})" +
            end) == "phi3");
  CHECK(recognised(each +
                   "{{'<|' + m['role'] + '|>' + '\n' + m['content'] + '<|end|>\n' }}{{ "
                   "'<|assistant|>\n' }}" +
                   end) == "phi3");
  CHECK(
      recognised(
          each +
          R"({% if m.role == "system" %}<|system|>{{ m.content }}<|end|>{% elif m.role == "user" %}<|user|>{{ m.content }}<|end|>)"
          "{% else %}<|assistant|>{{ m.content }}<|end|>{% endif %}" +
          end + "<|assistant|>") == "city-guide");
}

TEST_CASE("a template that is not one of them is not guessed") {
  CHECK(recognised("") == "none");
  CHECK(recognised("{{ messages }}") == "none");
  // chatml with another separator; a Mistral with tools; Llama 2 without the inner <s>
  CHECK(recognised("{{'<|im_start|>user<|im_middle|>' + m + '<|im_end|>\\n'}}") == "none");
  CHECK(recognised("{{ '[AVAILABLE_TOOLS] [' }}{{ '[INST] ' + m + '[/INST]' }}{{ ' [/INST]' }}") ==
        "none");
  CHECK(recognised("{{ bos_token }}{{ '<<SYS>>\\n' }}{{ '[INST] ' + c + ' [/INST]' }}") == "none");
  // turns that nothing ends; turns that end on a line of their own
  CHECK(recognised("<|system|>\n{{ c }}<|user|>\n{{ c }}<|assistant|>\n{{ c }}") == "none");
  CHECK(recognised(
            "{{'<|system|>\\n' + c + '\\n<|end|>\\n'}}{{'<|user|>\\n'}}{{'<|assistant|>\\n'}}") ==
        "none");
  // two at once
  CHECK(recognised("{{'<start_of_turn>model<end_of_turn>\\n'}}{{'<|start_header_id|><|end_header_"
                   "id|>\\n\\n<|eot_id|>'}}") == "none");
  // markers that only a comment spells
  CHECK(recognised("{# <|im_start|>assistant\n<|im_end|>\n #}{{ messages }}") == "none");
}
