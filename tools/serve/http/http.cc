#include "tools/serve/http/http.h"

namespace pc::serve {

const std::string* HttpRequest::header(std::string_view lower_case_name) const {
  for (const Header& header : headers)
    if (header.name == lower_case_name) return &header.value;
  return nullptr;
}

}  // namespace pc::serve
