#include "runtime/jinja/values/error.h"

#include <string>

namespace pc::jinja {

Error template_error(Code code, std::uint32_t line, std::string_view what) {
  return error(code, "line " + std::to_string(line) + ": " + std::string(what));
}

}  // namespace pc::jinja
