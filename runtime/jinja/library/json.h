// JSON of a template's values, as Python's json.dumps writes it, and values from
// JSON text, with the keys in their order.
//
// Threads: any.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "runtime/jinja/values/value.h"

namespace pc::jinja {

struct JsonStyle {
  bool ensures_ascii = false;
  bool sorts_keys = false;
  bool has_indent = false;  // lines, each indented; else one line
  std::string indent = {};
  std::string item_separator = ", ", key_separator = ": ";
};

Result<std::string> json_of(Budget& budget, const Value& value, const JsonStyle& style);

// `name` stands in messages. Errors: kCorrupt, kUnsupported (over a limit, or an
// integer beyond 64 bits).
Result<Value> value_from_json(std::string_view text, const std::string& name);

}  // namespace pc::jinja
