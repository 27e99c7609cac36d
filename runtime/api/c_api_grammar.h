// Grammars of what the C API is given.
//
// Internal to runtime/api/c_api*.cc. Threads: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"
#include "runtime/constrain/grammar/grammar.h"
#include "runtime/json/json.h"
#include "runtime/json/json_value.h"

namespace pc::capi {

// Before anything reads or copies the text.
inline Status check_size(std::size_t bytes, std::size_t most, const std::string& name) {
  const Status size = constrain::check_bytes(bytes, most);
  if (size.ok()) return size;
  return error(Code::kUnsupported, name + ": " + size.error().message);
}

// name: of the text, in messages.
inline Result<Json> read_json(std::string_view text, std::size_t most_bytes,
                              const std::string& name) {
  PC_CHECK_OK(check_size(text.size(), most_bytes, name));
  Result<Json> read = Json::parse(text, JsonLimits().depth);
  if (!read.ok()) return error(read.error().code, name + ": " + read.error().message);
  return read;
}

inline Result<constrain::Grammar> schema_grammar(std::string_view text) {
  PC_TRY(const Json schema, read_json(text, constrain::kMaxSchemaBytes, "schema"));
  return constrain::json_schema(schema, "schema");
}

}  // namespace pc::capi
