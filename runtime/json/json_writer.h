// Writes JSON by appending to a string: for reports, never for files that are
// read back in place.
//
//   JsonWriter json(&text);
//   json.begin_object().key("tokens").value(42).end_object();
//
// The caller opens and closes in the right order; commas are the writer's.
// Text that is not valid UTF-8 is written with U+FFFD in the places of the
// damage, and numbers that JSON cannot express (NaN, infinities) as null, so
// what comes out can always be read. Threads: thread-compatible.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace pc {

class JsonWriter {
 public:
  // Appends to *out, which must outlive the writer.
  explicit JsonWriter(std::string* out) : out_(out) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }

  JsonWriter& key(std::string_view name);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool b) { return literal(b ? "true" : "false"); }
  JsonWriter& value(double number);  // the shortest text that reads back as the same number
  template <std::integral T>
  requires(!std::same_as<T, bool>) JsonWriter& value(T number) {
    return literal(std::to_string(number));
  }
  JsonWriter& null() { return literal("null"); }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  JsonWriter& literal(std::string_view text);
  void separate();

  std::string* out_;
  bool needs_comma_ = false;
};

}  // namespace pc
