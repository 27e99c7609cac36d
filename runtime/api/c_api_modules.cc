// The C API's calls that encode, find, hold and let go of modules.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "promptcache/promptcache.h"
#include "runtime/api/c_api_handles.h"
#include "runtime/api/c_api_support.h"
#include "runtime/scheduler/stopwatch.h"

struct pc_pin {
  std::shared_ptr<const pc::Engine> engine;  // outlives what it made
  std::vector<pc::ResidentHandle> modules;
};

namespace {

using pc::Status;
using namespace pc::capi;

// Calls the caller's function while a module is waited for or encoded.
pc::LoadedSchema::Waiting waiting_of(pc_encode_progress progress, void* user, std::uint32_t total) {
  if (!progress) return nullptr;
  return [=](std::uint32_t n_done, const std::string& name) {
    return progress(user, n_done, total, name.c_str()) == 0;
  };
}

Status encode(pc::LoadedSchema& schema, const pc::LoadedSchema::Modules& modules,
              pc_encode_progress progress, void* user, pc_encode_stats* stats) {
  const pc::Stopwatch watch;
  const auto total = static_cast<std::uint32_t>(modules.size());
  pc_encode_stats sum{};
  sum.modules = total;
  const auto done = [&](std::uint32_t n_done, const std::string& name,
                        const pc::AcquiredModule& module) {
    if (module.source == pc::ModuleSource::kEncoded) {
      ++sum.modules_encoded;
      sum.tokens_computed += module.tokens_computed;
      if (module.stored) sum.bytes_stored += module.module->bytes().size();
    }
    return !progress || progress(user, n_done, total, name.c_str()) == 0;
  };
  Status encoded = schema.encode(modules, done, waiting_of(progress, user, total));
  sum.microseconds = watch.microseconds();
  if (stats) write_stats(sum, stats);
  return encoded;
}

pc::Result<pc_pin*> hold(pc::LoadedSchema& schema, const pc::LoadedSchema::Modules& modules,
                         pc_encode_progress progress, void* user) {
  auto pin = std::make_unique<pc_pin>();
  pin->engine = schema.shared_engine();
  pin->modules.reserve(modules.size());
  const auto total = static_cast<std::uint32_t>(modules.size());
  Status resident = pc::ok();
  const auto done = [&](std::uint32_t n_done, const std::string& name,
                        const pc::AcquiredModule& module) {
    auto made = pin->engine->backend().resident(module.module);
    if (made.ok())
      pin->modules.push_back(std::move(made).value());
    else
      resident = made.error();
    return resident.ok() && (!progress || progress(user, n_done, total, name.c_str()) == 0);
  };
  const Status encoded = schema.encode(modules, done, waiting_of(progress, user, total));
  PC_CHECK_OK(resident);
  PC_CHECK_OK(encoded);
  return pin.release();
}

}  // namespace

extern "C" {

pc_status pc_schema_encode(const pc_schema* schema, pc_encode_progress progress, void* user,
                           pc_encode_stats* stats, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(schema);
    return encode(*schema->schema, schema->schema->modules(), progress, user, stats);
  });
}

pc_status pc_prompt_encode(const pc_prompt* prompt, pc_encode_progress progress, void* user,
                           pc_encode_stats* stats, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(prompt);
    const pc::LoadedPrompt& loaded = *prompt->prompt;
    return encode(*loaded.schema, loaded.modules, progress, user, stats);
  });
}

pc_status pc_prompt_encode_together(const pc_prompt* prompt, pc_encode_progress progress,
                                    void* user, pc_encode_stats* stats, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(prompt);
    PC_TRY(const auto together, prompt->prompt->with_modules(pc::LoadedPrompt::Together::kAlways));
    const pc::LoadedSchema::Modules& modules = together->modules;
    const auto joint = std::ranges::find_if(
        modules, [](const auto& module) { return pc::pml::is_together(module->job); });
    if (joint == modules.end()) return encode(*together->schema, {}, progress, user, stats);
    PC_CHECK_OK(together->schema->check_share(**joint));
    return encode(*together->schema, modules, progress, user, stats);
  });
}

pc_status pc_prompt_prefetch(const pc_prompt* prompt, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(prompt);
    const pc::LoadedSchema& schema = *prompt->prompt->schema;
    const auto& modules = prompt->prompt->modules;
    return schema.prefetch(modules, schema.siblings_of(modules));
  });
}

pc_status pc_prompt_pin(const pc_prompt* prompt, pc_encode_progress progress, void* user,
                        pc_pin** pin, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(prompt);
    PC_REQUIRE(pin);
    PC_TRY(*pin, hold(*prompt->prompt->schema, prompt->prompt->modules, progress, user));
    return pc::ok();
  });
}

pc_status pc_schema_pin(const pc_schema* schema, pc_encode_progress progress, void* user,
                        pc_pin** pin, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(schema);
    PC_REQUIRE(pin);
    PC_TRY(*pin, hold(*schema->schema, schema->schema->modules(), progress, user));
    return pc::ok();
  });
}

void pc_pin_close(pc_pin* pin) {
  delete pin;
}

pc_status pc_engine_trim(const pc_engine* engine, std::uint64_t* bytes, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(engine);
    const std::uint64_t released = engine->engine->held().release();
    if (bytes) *bytes = released;
    return pc::ok();
  });
}

}  // extern "C"
