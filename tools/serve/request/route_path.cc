#include "tools/serve/request/route_path.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

#include "tools/serve/request/api_error.h"

namespace pc::serve {
namespace {

// Two hexadecimal digits, or -1.
int byte_of(std::string_view digits) {
  int byte = 0;
  const char* const end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, byte, 16);
  return digits.size() == 2 && read.ec == std::errc() && read.ptr == end && byte >= 0 ? byte : -1;
}

std::string without_percents(std::string_view written, const std::string& what) {
  std::string text;
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written[i] != '%') {
      text += written[i];
      continue;
    }
    const int byte = byte_of(written.substr(i + 1, 2));
    if (byte <= 0) throw ApiError::bad_request(what + " has a % without a character behind it");
    text += static_cast<char>(byte);
    i += 2;
  }
  return text;
}

}  // namespace

bool leads_to(std::string_view path, std::string_view route) {
  if (!route.ends_with("/*")) return path == route;
  const std::string_view folder = route.substr(0, route.size() - 1);
  return path.starts_with(folder) && path.size() > folder.size() &&
         path.find('/', folder.size()) == path.npos;
}

std::string name_in(std::string_view path) {
  return without_percents(path.substr(path.rfind('/') + 1), "the path");
}

std::string value_in(std::string_view query, std::string_view field) {
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(part.size() + 1, query.size()));
    const std::size_t equals = std::min(part.find('='), part.size());
    if (part.substr(0, equals) == field && equals < part.size())
      return without_percents(part.substr(equals + 1), "the query");
  }
  return "";
}

}  // namespace pc::serve
