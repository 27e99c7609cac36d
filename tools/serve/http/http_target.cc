#include "tools/serve/http/http_target.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace pc::serve {
namespace {

// RFC 3986, 2.3: with a percent sign they mean the same.
bool is_unreserved(unsigned char c) {
  return std::isalnum(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

// The character of "6D", if it needs no percent sign; else 0.
char unreserved_of(std::string_view digits) {
  unsigned byte = 0;
  const char* const end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, byte, 16);
  if (digits.size() != 2 || read.ec != std::errc() || read.ptr != end) return 0;
  return is_unreserved(static_cast<unsigned char>(byte)) ? static_cast<char>(byte) : '\0';
}

std::string plain_path(std::string_view written) {
  std::string path;
  for (std::size_t i = 0; i < written.size(); ++i) {
    char c = written[i];
    if (const char plain = c == '%' ? unreserved_of(written.substr(i + 1, 2)) : '\0'; plain != 0) {
      c = plain;
      i += 2;
    }
    if (c != '/' || !path.ends_with('/')) path += c;
  }
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

// "http://host" in front of the path, which a client sends that takes this server for a proxy.
std::string_view authority_in(std::string_view text) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    const bool is_it = text.size() >= scheme.size() &&
                       std::equal(scheme.begin(), scheme.end(), text.begin(), [](char a, char b) {
                         return a == std::tolower(static_cast<unsigned char>(b));
                       });
    if (!is_it) continue;
    text.remove_prefix(scheme.size());
    return text.substr(0, text.find_first_of("/?#"));
  }
  return {};
}

}  // namespace

Target target_of(std::string_view text) {
  Target target;
  if (const std::string_view authority = authority_in(text); !authority.empty()) {
    target.authority = authority;
    text.remove_prefix(static_cast<std::size_t>(authority.data() + authority.size() - text.data()));
  }
  text = text.substr(0, text.find('#'));
  const std::size_t mark = std::min(text.find('?'), text.size());
  target.path = plain_path(text.substr(0, mark));
  if (target.path.empty()) target.path = "/";
  if (mark < text.size()) target.query = text.substr(mark + 1);
  return target;
}

}  // namespace pc::serve
