// Whole conversations, namespaces and spelled control tokens through the C API.

#include <catch2/catch.hpp>
#include <promptcache/promptcache.hpp>
#include <string>

#include "tests/support/temp_folder.h"
#include "tests/support/tiny_chat.h"

namespace pc::test {
namespace {

const char* const kChat =
    R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "A page of text.", "module": true},
        {"type": "text", "text": " What is it?"}]}]})";

class World {
 public:
  World() : checkpoint_(5) { write_chat_template(checkpoint_, chat_turns()); }

  promptcache::Engine open() {
    const std::string path = checkpoint_.path(), cache = cache_.path();
    promptcache::EngineOptions options;
    options.model_path = path.c_str();
    options.cache_dir = cache.c_str();
    options.n_threads = 1;
    return promptcache::Engine(options);
  }

 private:
  TinyCheckpoint checkpoint_;
  TempFolder cache_;
};

// Lets nothing be drawn but the token that `user` points to.
int only_this(void* user, std::uint32_t* allowed, std::size_t n_words) {
  const auto token = static_cast<std::uint32_t>(*static_cast<const std::int32_t*>(user));
  for (std::size_t i = 0; i < n_words; ++i) allowed[i] = 0;
  allowed[token / 32] = 1u << token % 32;
  return 0;
}

std::string answer(const promptcache::Engine& engine, std::int32_t token, bool spells) {
  promptcache::SessionOptions options;
  options.max_tokens = 2;
  options.mask = only_this;
  options.mask_user = &token;
  options.spell_controls = spells;
  std::string text;
  promptcache::Session(promptcache::Prompt::from_chat(engine, kChat), options)
      .generate([&](const pc_token& drawn) { text.append(drawn.text, drawn.text_bytes); });
  return text;
}

}  // namespace

TEST_CASE("a conversation is rendered, and answered with its parts as modules") {
  World world;
  const promptcache::Engine engine = world.open();
  CHECK(engine.render_chat(kChat) == "<s>U: A page of text. What is it?</s>A: ");
  const auto prompt = promptcache::Prompt::from_chat(engine, kChat);
  CHECK(prompt.counts().modules == 2);  // what stands before it is one
  CHECK(prompt.counts().approximate_tokens == 0);
  CHECK(prompt.encode().modules_encoded == 2);
  CHECK(world.open().in_namespace("").facts().vocab_size == engine.facts().vocab_size);
}

TEST_CASE("each namespace has its own modules") {
  World world;
  const promptcache::Engine engine = world.open(), ann = engine.in_namespace("ann");
  promptcache::Prompt::from_chat(ann, kChat).encode();
  CHECK(promptcache::Prompt::from_chat(ann, kChat).counts().modules_missing == 0);
  CHECK(promptcache::Prompt::from_chat(engine, kChat).counts().modules_missing == 2);
  const auto of_ann = promptcache::Schema::plain(ann), own = promptcache::Schema::plain(engine);
  std::string text = "One";
  for (int i = 0; i < 120; ++i) text += " and one more";
  promptcache::Session first(promptcache::Prompt::from_text(of_ann, text));
  first.prefill();
  first.keep();
  CHECK(promptcache::Prompt::from_text(of_ann, text).counts().chained_tokens > 0);
  CHECK(promptcache::Prompt::from_text(own, text).counts().chained_tokens == 0);
}

TEST_CASE("control tokens of an answer are spelled where that is asked for, but for its end") {
  World world;
  const promptcache::Engine engine = world.open();
  const std::int32_t bos = engine.facts().bos;
  CHECK(answer(engine, bos, false).empty());
  CHECK(answer(engine, bos, true) == "<s><s>");
  std::int32_t end = 0;
  while (!engine.ends_turn(end)) ++end;
  CHECK(answer(engine, end, true).empty());
}

TEST_CASE("what is no conversation is refused by its field, and so is nothing") {
  World world;
  const promptcache::Engine engine = world.open();
  pc_prompt* prompt = nullptr;
  pc_error error{};
  CHECK(pc_prompt_from_chat(engine.get(), R"({"messages": [5]})", PC_NUL_TERMINATED, &prompt,
                            &error) == PC_INVALID_ARGUMENT);
  CHECK(std::string(error.message).find("messages[0]") != std::string::npos);
  CHECK(pc_prompt_from_chat(engine.get(), "{", PC_NUL_TERMINATED, &prompt, &error) == PC_CORRUPT);
  CHECK(pc_prompt_from_chat(nullptr, kChat, PC_NUL_TERMINATED, &prompt, &error) ==
        PC_INVALID_ARGUMENT);
  CHECK(pc_chat_render(engine.get(), kChat, PC_NUL_TERMINATED, nullptr, nullptr, &error) ==
        PC_INVALID_ARGUMENT);
  pc_engine* view = nullptr;
  CHECK(pc_engine_in_namespace(engine.get(), nullptr, &view, &error) == PC_INVALID_ARGUMENT);
  CHECK(prompt == nullptr);
}

}  // namespace pc::test
