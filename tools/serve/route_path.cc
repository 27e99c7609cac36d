#include "tools/serve/route_path.h"

#include <charconv>
#include <cstddef>

#include "tools/serve/api_error.h"

namespace pc::serve {
namespace {

// Two hexadecimal digits, or -1.
int byte_of(std::string_view digits) {
  int byte = 0;
  const char* const end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, byte, 16);
  return digits.size() == 2 && read.ec == std::errc() && read.ptr == end && byte >= 0 ? byte : -1;
}

}  // namespace

bool leads_to(std::string_view path, std::string_view route) {
  if (!route.ends_with("/*")) return path == route;
  const std::string_view folder = route.substr(0, route.size() - 1);
  return path.starts_with(folder) && path.size() > folder.size() &&
         path.find('/', folder.size()) == path.npos;
}

std::string name_in(std::string_view path) {
  const std::string_view written = path.substr(path.rfind('/') + 1);
  std::string name;
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written[i] != '%') {
      name += written[i];
      continue;
    }
    const int byte = byte_of(written.substr(i + 1, 2));
    if (byte <= 0) throw ApiError::bad_request("the path has a % without a character behind it");
    name += static_cast<char>(byte);
    i += 2;
  }
  return name;
}

}  // namespace pc::serve
