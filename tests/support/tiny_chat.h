// A model with a chat template of its own, and answers that a test chooses.
#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "runtime/session/session.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {

// Turns end with EOS; `past` is what an answer is written behind once turns follow it.
inline std::string chat_turns(const std::string& past = "A:") {
  return "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}U: {{ m.content }}"
         "{{ eos_token }}{% elif m.role == 'assistant' %}" +
         past +
         " {{ m.content }}{{ eos_token }}{% endif %}{% endfor %}"
         "{% if add_generation_prompt %}A: {% endif %}";
}

inline void write_chat_template(const TinyCheckpoint& checkpoint,
                                const std::string& chat_template) {
  std::ofstream(checkpoint.path() + "/tokenizer_config.json")
      << R"({"bos_token": "<s>", "eos_token": "</s>", "add_bos_token": true, "chat_template": ")"
      << chat_template << R"("})";
}

// A mask that lets nothing be drawn but these tokens, one after the other, for one answer.
inline std::function<bool(std::span<std::uint32_t>, const DrawPlace&)> only(Tokens tokens) {
  return [tokens = std::move(tokens), n = std::size_t{0}](std::span<std::uint32_t> allowed,
                                                          const DrawPlace&) mutable {
    std::ranges::fill(allowed, 0u);
    const auto token = static_cast<std::uint32_t>(tokens[n++ % tokens.size()]);
    allowed[token / 32] = 1u << token % 32;
    return true;
  };
}

}  // namespace pc::test
