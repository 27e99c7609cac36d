#include "pml/turns/chat_template.h"

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

}  // namespace

// All formats: tests/runtime/chat/program/chat_template_golden_test.cc.
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

TEST_CASE("a format's strings, as PML asks for them") {
  const ChatFormat format = chat_format(*find_chat_template("llama2"));
  CHECK(format.name == "llama2");
  const auto texts = format.turns(std::vector{Role::kSystem, Role::kUser, Role::kAssistant});
  REQUIRE(texts.ok());
  REQUIRE(texts->turns.size() == 3);
  CHECK(texts->turns[1] == TurnText{"", " [/INST]"});
  CHECK(texts->turns[2] == TurnText{" ", " </s>"});
  CHECK(texts->bos);
}

TEST_CASE("BOS stands in the first turn where the tokenizer begins no text with it") {
  const auto turns = [](const char* name, std::vector<Role> roles) {
    auto texts = spell_bos(chat_format(*find_chat_template(name)), "<s>").turns(roles);
    REQUIRE(texts.ok());
    CHECK_FALSE(texts->bos);
    return std::move(texts->turns);
  };
  const auto chat = turns("llama2", {Role::kUser, Role::kAssistant});
  CHECK(chat[0].open == "<s>[INST] ");
  CHECK(chat[1].open == " ");
  CHECK(turns("chatml", {Role::kUser})[0].open == "<|im_start|>user\n");
  CHECK(turns("llama2", {}).empty());
}
