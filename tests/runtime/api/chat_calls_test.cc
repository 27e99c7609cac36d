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
int only_this(void* user, const pc_session*, std::uint32_t, std::uint32_t* allowed,
              std::size_t n_words) {
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

TEST_CASE("a conversation is written once, and prompts are made of it") {
  World world;
  const promptcache::Engine engine = world.open();
  const std::vector<pc_chat_part> parts = {{"A page of text.", PC_NUL_TERMINATED, PC_CHAT_MODULE},
                                           {" What is it?<s>", 12, 0}};
  const std::vector<pc_chat_message> messages = {{"user", PC_CONTENT_PARTS, parts.data(),
                                                  parts.size(), R"({"name": "Ann"})",
                                                  PC_NUL_TERMINATED}};
  const promptcache::Chat typed(engine, messages), read(engine, kChat);
  CHECK(typed.text() == read.text());
  CHECK(typed.text() == engine.render_chat(kChat));
  const promptcache::Prompt all(typed), none(typed, PC_CHAT_NO_MODULES);
  CHECK(all.tokens() == promptcache::Prompt::from_chat(engine, kChat).tokens());
  CHECK(all.counts().modules == 2);
  CHECK(none.counts().approximate_tokens == 0);
  CHECK(none.counts().module_tokens <= 1);  // BOS
  CHECK(promptcache::Prompt(typed, PC_CHAT_MODULES_APART).tokens() == all.tokens());
  CHECK(promptcache::Prompt(typed, PC_CHAT_MODULES | PC_CHAT_IN_SLOTS).tokens() == all.tokens());
  const pc_chat_message answer = {"assistant", PC_CONTENT_TEXT, parts.data(), 1, nullptr, 0};
  promptcache::ChatOptions options;
  options.flags = PC_CHAT_CONTINUES;
  CHECK(promptcache::Chat(engine, {messages[0], answer}, options).text() ==
        "<s>U: A page of text. What is it?</s>A: A page of text.");
  options.flags = PC_CHAT_ENDS;
  CHECK(promptcache::Chat(engine, messages, options).text() ==
        "<s>U: A page of text. What is it?</s>");
}

TEST_CASE("one look at a prompt says what each module's run is") {
  World world;
  const promptcache::Engine engine = world.open();
  const std::string pages =
      R"({"repair": "leading:1", "messages": [{"role": "user", "content": [
          {"type": "text", "text": "A page of text.", "module": true},
          {"type": "text", "text": "Another page.", "module": true},
          {"type": "text", "text": " What is it?"}]}]})";
  const auto prompt = promptcache::Prompt::from_chat(engine, pages);
  const auto [counts, runs] = prompt.look();
  REQUIRE(runs.size() == 3);
  CHECK(counts.tokens == prompt.counts().tokens);
  CHECK(counts.modules_missing == 3);
  for (const pc_module_run& run : runs) {
    CHECK(run.state == PC_RUN_MISSING);
    CHECK(std::string(run.why) != "");
  }
  const auto tokens = prompt.tokens();
  CHECK(engine.detokenize(tokens.data() + runs[1].begin, runs[1].n_tokens) == "A page of text.");
  CHECK(runs[1].exact == 1);
  CHECK(std::string(runs[1].repair) == "");
  CHECK(runs[2].exact == 0);
  CHECK(std::string(runs[2].repair) == "leading:1");
  prompt.encode();
  for (const pc_module_run& run : prompt.look().second) CHECK(run.state != PC_RUN_MISSING);
  const auto behind = promptcache::Prompt::from_chat(world.open(), pages);
  for (const pc_module_run& run : behind.look().second) {
    CHECK(run.state == PC_RUN_STORED);
    CHECK(std::string(run.why) == "");
  }
  std::size_t n = 0;
  pc_module_run first{};
  CHECK(pc_prompt_look(prompt.get(), nullptr, &first, 1, &n, nullptr) == PC_OK);
  CHECK(n == 3);
  CHECK(first.begin == 0);
  CHECK(pc_prompt_look(prompt.get(), nullptr, nullptr, 1, &n, nullptr) == PC_INVALID_ARGUMENT);
}

TEST_CASE("a conversation that cannot be meant is refused by its place") {
  World world;
  const promptcache::Engine engine = world.open();
  const auto refused = [&](const pc_chat_message& message, const pc_chat_options& options) {
    pc_chat* chat = nullptr;
    pc_error error{};
    CHECK(pc_chat_write(engine.get(), &message, 1, &options, &chat, &error) != PC_OK);
    CHECK(chat == nullptr);
    return std::string(error.message);
  };
  const promptcache::ChatOptions plain;
  const pc_chat_part part = {"Hi", 2, 0}, unknown = {"Hi", 2, 64};
  const pc_chat_message user = {"user", PC_CONTENT_TEXT, &part, 1, nullptr, 0};
  pc_chat_message bad = user;
  bad.role = "king";
  CHECK(refused(bad, plain).find("messages[0].role") != std::string::npos);
  bad = user, bad.content = 9;
  CHECK(refused(bad, plain).find("messages[0].content") != std::string::npos);
  bad = user, bad.content = PC_CONTENT_NULL;
  CHECK(refused(bad, plain).find("messages[0]") != std::string::npos);
  bad = user, bad.parts = &unknown;
  CHECK(refused(bad, plain).find("messages[0].content") != std::string::npos);
  bad = user, bad.fields = "[1]", bad.fields_bytes = 3;
  CHECK(refused(bad, plain).find("messages[0]") != std::string::npos);
  bad = user, bad.fields = R"({"content": "Ho"})", bad.fields_bytes = PC_NUL_TERMINATED;
  CHECK(refused(bad, plain).find("content") != std::string::npos);
  promptcache::ChatOptions options;
  options.variables = R"({"messages": 1})", options.variables_bytes = PC_NUL_TERMINATED;
  CHECK(refused(user, options).find("variables.messages") != std::string::npos);
  options = {};
  const pc_chat_tool tool = {"5", 1, 0};
  options.tools = &tool, options.n_tools = 1;
  CHECK(refused(user, options).find("tools[0]") != std::string::npos);
  options = {};
  options.repair = "much";
  CHECK(refused(user, options).find("repair") != std::string::npos);
  options = {};
  options.flags = PC_CHAT_CONTINUES;
  CHECK(refused(user, options).find("continue_final_message") != std::string::npos);
  options.flags = 128;
  CHECK(refused(user, options).find("flag") != std::string::npos);
  const promptcache::Chat chat(engine, {user});
  pc_prompt* prompt = nullptr;
  for (const std::uint32_t which : {3u, 3u | PC_CHAT_IN_SLOTS, 8u})
    CHECK(pc_chat_prompt(chat.get(), which, &prompt, nullptr) == PC_UNSUPPORTED);
  CHECK(pc_chat_prompt(nullptr, 0, &prompt, nullptr) == PC_INVALID_ARGUMENT);
  CHECK(pc_chat_write(engine.get(), nullptr, 1, nullptr, nullptr, nullptr) == PC_INVALID_ARGUMENT);
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
