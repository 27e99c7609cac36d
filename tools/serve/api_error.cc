#include "tools/serve/api_error.h"

namespace pc::serve {
namespace {

Json or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

// Anthropic's word for a status.
const char* anthropic_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    default:
      return status < 500 ? "invalid_request_error" : "api_error";
  }
}

}  // namespace

ApiError ApiError::of(const promptcache::Error& error) {
  switch (error.status()) {
    case PC_CONTEXT_FULL:
      return {400, "invalid_request_error", error.what(), "messages", "context_length_exceeded"};
    case PC_INVALID_ARGUMENT:
    case PC_UNSUPPORTED:
    case PC_PML_SYNTAX:
    case PC_PML_SEMANTIC:
      return bad_request(error.what());
    case PC_NOT_FOUND:
      return {404, "invalid_request_error", error.what()};
    case PC_OUT_OF_MEMORY:
      return {503, "server_error", error.what(), "", "out_of_memory"};
    default:
      return {500, "server_error", error.what(), "", pc_status_name(error.status())};
  }
}

Json ApiError::openai() const {
  return Json::object().set("error", Json::object()
                                         .set("message", what())
                                         .set("type", type_)
                                         .set("param", or_null(param_))
                                         .set("code", or_null(code_)));
}

Json ApiError::anthropic() const {
  return Json::object()
      .set("type", "error")
      .set("error", Json::object().set("type", anthropic_type(status_)).set("message", what()));
}

HttpResponse to_response(const ApiError& error, Protocol protocol) {
  HttpResponse response;
  response.status = error.status();
  response.body = (protocol == Protocol::kOpenAi ? error.openai() : error.anthropic()).dump();
  if (error.status() == 429 || error.status() == 503)
    response.headers.push_back({"retry-after", "1"});
  if (error.status() == 401) response.headers.push_back({"www-authenticate", "Bearer"});
  return response;
}

}  // namespace pc::serve
