#include "tools/serve/routes/playground.h"

#include <stdexcept>
#include <string_view>

namespace pc::serve {
namespace {

constexpr const char* kPage = "/playground/index.html";

constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; form-action 'none'; frame-ancestors 'none'; base-uri 'none'";

const char* type_of(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  throw std::logic_error("of which type is " + std::string(name) + "?");
}

}  // namespace

const char* playground_path(const EmbeddedFile& file) {
  return std::string_view(file.name) == kPage ? "/" : file.name;
}

HttpResponse playground_response(const EmbeddedFile& file) {
  HttpResponse response;
  response.content_type = type_of(file.name);
  response.headers = {{"content-security-policy", kPolicy},
                      {"x-content-type-options", "nosniff"},
                      {"referrer-policy", "no-referrer"},
                      {"cache-control", "no-cache"}};  // another version may serve it tomorrow
  response.body.assign(reinterpret_cast<const char*>(file.bytes), file.n_bytes);
  return response;
}

}  // namespace pc::serve
