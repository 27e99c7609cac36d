// The C API's calls about whole conversations, and users of one engine.

#include <memory>
#include <string>
#include <utility>

#include "promptcache/promptcache.h"
#include "runtime/api/c_api_handles.h"
#include "runtime/api/c_api_support.h"
#include "runtime/engine/chat_prompt.h"

using pc::Status;
using namespace pc::capi;

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

pc_status pc_prompt_from_chat(const pc_engine* engine, const char* json, std::size_t bytes,
                              pc_prompt** prompt, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(engine);
    PC_REQUIRE(json);
    PC_REQUIRE(prompt);
    PC_TRY(auto made, pc::prompt_of_chat(engine->engine, view_of(json, bytes), engine->name_space));
    *prompt = new pc_prompt{std::move(made)};
    return pc::ok();
  });
}

pc_status pc_chat_render(const pc_engine* engine, const char* json, std::size_t bytes, char** text,
                         std::size_t* text_bytes, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(engine);
    PC_REQUIRE(json);
    PC_REQUIRE(text);
    PC_TRY(const pc::ChatText written, pc::text_of_chat(*engine->engine, view_of(json, bytes)));
    const std::string whole = written.text();
    PC_CHECK_OK(give(whole, text));
    if (text_bytes) *text_bytes = whole.size();
    return pc::ok();
  });
}

}  // extern "C"
