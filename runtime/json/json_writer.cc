#include "runtime/json/json_writer.h"

#include <charconv>
#include <cmath>

#include "base/utf8.h"

namespace pc {
namespace {

void append_escaped(char c, std::string* out) {
  switch (c) {
    case '"':
      out->append("\\\"");
      return;
    case '\\':
      out->append("\\\\");
      return;
    case '\n':
      out->append("\\n");
      return;
    case '\t':
      out->append("\\t");
      return;
    case '\r':
      out->append("\\r");
      return;
    default:
      break;
  }
  if (static_cast<unsigned char>(c) >= 0x20) {
    out->push_back(c);
    return;
  }
  constexpr char kHex[] = "0123456789abcdef";
  out->append("\\u00");
  out->push_back(kHex[c >> 4]);
  out->push_back(kHex[c & 15]);
}

void append_quoted(std::string_view text, std::string* out) {
  std::string mended;
  if (!is_utf8(text)) {
    Utf8Stream stream;
    stream.append(text, &mended);
    stream.finish(&mended);
    text = mended;
  }
  out->push_back('"');
  for (const char c : text) append_escaped(c, out);
  out->push_back('"');
}

}  // namespace

void JsonWriter::separate() {
  if (needs_comma_) out_->push_back(',');
  needs_comma_ = true;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_->push_back(bracket);
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  out_->push_back(bracket);
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::literal(std::string_view text) {
  separate();
  out_->append(text);
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_quoted(name, out_);
  out_->push_back(':');
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  append_quoted(text, out_);
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  if (number == 0 && std::signbit(number)) return literal("-0.0");  // readers take -0 for 0
  char digits[32];  // the longest shortest form of a double has 24 characters
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  return literal({digits, static_cast<std::size_t>(end - digits)});
}

}  // namespace pc
