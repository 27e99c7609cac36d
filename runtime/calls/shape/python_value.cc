#include "runtime/calls/shape/python_value.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace pc::calls {
namespace {

constexpr int kMaxDepth = 64;

class Reader {
 public:
  explicit Reader(CallCursor* at) : at_(*at) {}

  std::optional<Json> value(int depth) {
    at_.skip_space();
    if (depth > kMaxDepth || at_.rest().empty()) return std::nullopt;
    const char first = at_.rest().front();
    if (first == '"' || first == '\'') return string();
    if (first == '[') return list(']', depth);
    if (first == '(') return list(')', depth);
    return first == '{' ? dict(depth) : word();
  }

 private:
  // What follows, without white space.
  char next() {
    at_.skip_space();
    return at_.rest().empty() ? '\0' : at_.rest().front();
  }

  bool take(char c) {
    if (next() != c) return false;
    at_.skip(1);
    return true;
  }

  static bool ends_string(std::string_view behind) {
    const std::size_t at = behind.find_first_not_of(kSpace);
    return at == behind.npos || std::string_view(",:)]}").find(behind[at]) != behind.npos;
  }

  // As JSON writes it, so that its escapes are read, and texts that are no UTF-8 refused, there.
  std::optional<Json> string() {
    const char quote = at_.rest().front();
    const std::string_view text = at_.rest();
    std::string json = "\"";
    for (std::size_t i = 1; i < text.size(); ++i) {
      const char c = text[i];
      if (c == quote && ends_string(text.substr(i + 1))) {
        at_.skip(i + 1);
        std::string why;
        return Json::read_strictly(json + '"', 1, &why);
      }
      if (c == '\\' && i + 1 < text.size())
        json += escape(text.substr(i + 1), &i);
      else
        json += plain(c);
    }
    return std::nullopt;
  }

  // Of what stands behind a backslash, which stays where it stands before anything else; moves *at
  // behind what was taken.
  static std::string escape(std::string_view text, std::size_t* at) {
    const char c = text.front();
    if ((c == 'x' && is_hex(text.substr(1), 2)) || (c == 'u' && is_hex(text.substr(1), 4))) {
      const std::size_t n = c == 'x' ? 2 : 4;
      *at += 1 + n;
      return (c == 'x' ? "\\u00" : "\\u") + std::string(text.substr(1, n));
    }
    if (c != '\'' && std::string_view("\"\\/bfnrt\n").find(c) == std::string_view::npos)
      return "\\\\";
    ++*at;
    if (c == '\'' || c == '\n') return c == '\'' ? "'" : "";
    return {'\\', c};
  }

  static bool is_hex(std::string_view text, std::size_t n) {
    constexpr std::string_view kHex = "0123456789abcdefABCDEF";
    return text.size() >= n && text.substr(0, n).find_first_not_of(kHex) == std::string_view::npos;
  }

  static std::string plain(char c) {
    constexpr std::string_view kHex = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') return {'\\', c};
    if (byte >= 0x20) return {c};
    return std::string("\\u00") + kHex[byte >> 4] + kHex[byte & 15];
  }

  std::optional<Json> list(char end, int depth) {
    Json items = Json::array();
    at_.skip(1);
    while (!take(end)) {
      const auto item = value(depth + 1);
      if (!item) return std::nullopt;
      items.push(*item);
      if (!take(',') && next() != end) return std::nullopt;
    }
    return items;
  }

  std::optional<Json> dict(int depth) {
    Json members = Json::object();
    at_.skip(1);
    while (!take('}')) {
      const bool is_string = next() == '"' || next() == '\'';
      const auto key = is_string ? string() : std::nullopt;
      if (!key || !take(':')) return std::nullopt;
      const auto item = value(depth + 1);
      if (!item) return std::nullopt;
      members.set(key->string(), *item);
      if (!take(',') && next() != '}') return std::nullopt;
    }
    return members;
  }

  // A number, or one of the words.
  std::optional<Json> word() {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kWords{
        {{"True", "true"}, {"False", "false"}, {"None", "null"}}};
    const std::string_view rest = at_.rest();
    const std::size_t size = std::min(rest.find_first_of(",:()[]{}\"' \t\r\n"), rest.size());
    std::string_view word = rest.substr(0, size);
    at_.skip(size);
    for (const auto& [python, json] : kWords)
      if (word == python) word = json;
    std::string why;
    return Json::read_strictly(word, 1, &why);
  }

  CallCursor& at_;
};

}  // namespace

std::optional<Json> take_python_value(CallCursor* at) {
  return Reader(at).value(1);
}

}  // namespace pc::calls
