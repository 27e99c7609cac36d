// A tiny model with a chat template, its store, and a schema: a place where conversations are kept
// and found again by another process. Threads: one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "runtime/session/session.h"
#include "tests/support/expect.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {

inline const std::string kLong =
    "The harbour ferry of Lindby leaves at seven in the morning and at six in the evening. A "
    "ticket costs four crowns; children and dogs travel free. In winter the ferry rests.";

struct Turn {
  pml::Role role;
  std::string text;
  std::string module = "";  // in front of the text
};
using Turns = std::vector<Turn>;

inline Turn user(const std::string& text) {
  return {pml::Role::kUser, text};
}
inline Turn said(const std::string& text) {
  return {pml::Role::kAssistant, text};
}

class Apartment {
 public:
  explicit Apartment(KvType type = KvType::kF32) : type_(type) {
    use_template(
        "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}U: {{ m.content }}"
        "{{ eos_token }}{% elif m.role == 'assistant' %}A: {{ m.content }}{{ eos_token }}"
        "{% endif %}{% endfor %}{% if add_generation_prompt %}A: {% endif %}");
  }

  void use_template(const std::string& text) {
    std::ofstream(checkpoint_.path() + "/tokenizer_config.json")
        << R"({"bos_token": "<s>", "eos_token": "</s>", "add_bos_token": true, "chat_template": ")"
        << text << R"("})";
    restart();
  }

  // Another process, as far as the library can tell.
  void restart() {
    schema.reset();
    EngineOptions o;
    o.model_path = checkpoint_.path();
    o.cache_dir = cache_.path();
    o.kv_type = type_;
    o.n_threads = 2;
    o.context_tokens = context_tokens;
    o.precision = precision;
    schema = must(LoadedSchema::parse(must(Engine::open(o)), text_, ""));
  }
  void use_schema(const std::string& text) {
    text_ = text;
    restart();
  }

  std::unique_ptr<Session> open(const Turns& turns, SessionOptions o = {}) {
    if (!o.max_tokens) o.max_tokens = 80;
    std::vector<pml::Message> messages;
    for (const Turn& turn : turns) {
      messages.push_back({turn.role, {}});
      if (!turn.module.empty()) messages.back().parts.push_back({"", turn.module, {}});
      messages.back().parts.push_back({turn.text, "", {}});
    }
    prompt = must(LoadedPrompt::of_messages(schema, messages));
    return must(Session::open(prompt, o));
  }

  std::size_t n_files() const {
    std::size_t n = 0;
    for (const auto& entry : std::filesystem::directory_iterator(cache_.path() + "/v3/objects"))
      n += entry.is_regular_file();
    return n;
  }
  const std::string& cache() const { return cache_.path(); }

  std::shared_ptr<LoadedSchema> schema;
  std::shared_ptr<const LoadedPrompt> prompt;
  std::uint32_t context_tokens = 0;        // from the next restart on
  Precision precision = Precision::kFast;  // from the next restart on

 private:
  KvType type_;
  std::string text_ =
      "<schema name='s'><module name='doc'>The tram of Oslo costs four euros.</module></schema>";
  TinyCheckpoint checkpoint_{5, 1024, 32};
  TempFolder cache_;
};

}  // namespace pc::test
