// The C API's calls about whole conversations, and users of one engine.

#include <memory>
#include <string>
#include <utility>

#include "promptcache/promptcache.h"
#include "runtime/api/c_api_conversation.h"
#include "runtime/api/c_api_handles.h"
#include "runtime/api/c_api_support.h"
#include "runtime/prompt/written_chat.h"

using pc::Status;
using namespace pc::capi;

static_assert(static_cast<int>(pc::ChatModules::kAll) == PC_CHAT_MODULES &&
              static_cast<int>(pc::ChatModules::kApart) == PC_CHAT_MODULES_APART &&
              static_cast<int>(pc::ChatModules::kNone) == PC_CHAT_NO_MODULES);

struct pc_chat {
  std::shared_ptr<const pc::WrittenChat> chat;
};

namespace {

Status write(const pc_engine& engine, const pc::ChatRequest& read, pc_chat** chat) {
  PC_TRY(auto written, pc::WrittenChat::write(engine.engine, read, engine.name_space));
  *chat = new pc_chat{std::move(written)};
  return pc::ok();
}

}  // namespace

extern "C" {

pc_status pc_engine_in_namespace(const pc_engine* engine, const char* cache_namespace,
                                 pc_engine** view, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(engine);
    PC_REQUIRE(cache_namespace);
    PC_REQUIRE(view);
    *view = new pc_engine{engine->engine, std::string(cache_namespace)};
    return pc::ok();
  });
}

void pc_chat_options_init(pc_chat_options* options) {
  if (!options) return;
  *options = {};
  options->struct_size = sizeof *options;
}

pc_status pc_chat_write(const pc_engine* engine, const pc_chat_message* messages, std::size_t n,
                        const pc_chat_options* options, pc_chat** chat, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(engine);
    PC_REQUIRE(messages || n == 0);
    PC_REQUIRE(chat);
    PC_TRY(const pc_chat_options o, read_options(options));
    PC_TRY(const pc::ChatRequest read, read_conversation(messages, n, o));
    return write(*engine, read, chat);
  });
}

pc_status pc_chat_read(const pc_engine* engine, const char* json, std::size_t bytes, pc_chat** chat,
                       pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(engine);
    PC_REQUIRE(json);
    PC_REQUIRE(chat);
    PC_TRY(const pc::ChatRequest read, pc::read_chat(view_of(json, bytes)));
    return write(*engine, read, chat);
  });
}

void pc_chat_close(pc_chat* chat) {
  delete chat;
}

pc_status pc_chat_text(const pc_chat* chat, char** text, std::size_t* text_bytes, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(chat);
    PC_REQUIRE(text);
    const std::string whole = chat->chat->text();
    PC_CHECK_OK(give(whole, text));
    if (text_bytes) *text_bytes = whole.size();
    return pc::ok();
  });
}

pc_status pc_chat_prompt(const pc_chat* chat, std::uint32_t modules, pc_prompt** prompt,
                         pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(chat);
    PC_REQUIRE(prompt);
    const bool in_slots = (modules & PC_CHAT_IN_SLOTS) != 0;
    modules &= ~std::uint32_t{PC_CHAT_IN_SLOTS};
    if (modules > PC_CHAT_NO_MODULES)
      return pc::error(pc::Code::kUnsupported,
                       "modules is no choice that this version of the library knows");
    PC_TRY(auto made, chat->chat->prompt(static_cast<pc::ChatModules>(modules), in_slots));
    *prompt = new pc_prompt{std::move(made)};
    return pc::ok();
  });
}

pc_status pc_prompt_from_chat(const pc_engine* engine, const char* json, std::size_t bytes,
                              pc_prompt** prompt, pc_error* error) {
  pc_chat* chat = nullptr;
  pc_status status = pc_chat_read(engine, json, bytes, &chat, error);
  if (status == PC_OK) status = pc_chat_prompt(chat, PC_CHAT_MODULES, prompt, error);
  pc_chat_close(chat);
  return status;
}

pc_status pc_chat_render(const pc_engine* engine, const char* json, std::size_t bytes, char** text,
                         std::size_t* text_bytes, pc_error* error) {
  pc_chat* chat = nullptr;
  pc_status status = pc_chat_read(engine, json, bytes, &chat, error);
  if (status == PC_OK) status = pc_chat_text(chat, text, text_bytes, error);
  pc_chat_close(chat);
  return status;
}

}  // extern "C"
