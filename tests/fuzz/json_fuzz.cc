// Fuzzes the JSON reader and writer: what was read is written, and reads back
// as the same value.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "runtime/json/json.h"
#include "runtime/json/json_writer.h"

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

// Copies a value through the public interface.
void write(pc::JsonView value, pc::JsonWriter* json) {
  if (value.is_object()) {
    json->begin_object();
    const pc::Status done = value.for_each_member([&](std::string_view key, pc::JsonView member) {
      json->key(key);
      write(member, json);
      return pc::ok();
    });
    require(done.ok());
    json->end_object();
  } else if (value.is_array()) {
    json->begin_array();
    for (std::size_t i = 0; i < value.size(); ++i) write(value.at(i), json);
    json->end_array();
  } else if (value.is_string()) {
    json->value(*value.string());
  } else if (value.is_boolean()) {
    json->value(*value.boolean());
  } else if (value.is_null()) {
    json->null();
  } else if (const auto integer = value.integer(); integer.ok()) {
    json->value(*integer);
  } else {
    require(!integer.error().message.empty());
    json->value(*value.number());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto document =
      pc::JsonDocument::parse(text, "fuzz", {.bytes = 1 << 16, .values = 4096, .depth = 64});
  if (!document.ok()) {
    require(document.error().message.starts_with("fuzz: "));
    return 0;
  }
  std::string copy, again;
  pc::JsonWriter json(&copy);
  write(document->root(), &json);
  const auto second = pc::JsonDocument::parse(copy, "copy");
  require(second.ok());
  pc::JsonWriter json_again(&again);
  write(second->root(), &json_again);
  require(copy == again);
  return 0;
}
