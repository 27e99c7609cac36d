#include "tools/serve/request/api_error.h"

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

ApiError by_status(const promptcache::Error& error, const std::string& param) {
  switch (error.status()) {
    case PC_CONTEXT_FULL:
      return {400, "invalid_request_error", error.what(), param.empty() ? "messages" : param,
              "context_length_exceeded"};
    case PC_INVALID_ARGUMENT:
    case PC_UNSUPPORTED:
    case PC_PML_SYNTAX:
    case PC_PML_SEMANTIC:
      return ApiError::bad_request(error.what(), param);
    case PC_NOT_FOUND:
      return {404, "invalid_request_error", error.what(), param};
    case PC_OUT_OF_MEMORY:
      return {503, "server_error", error.what(), "", "out_of_memory"};
    default:
      return {500, "server_error", error.what(), "", pc_status_name(error.status())};
  }
}

}  // namespace

ApiError ApiError::of(const promptcache::Error& error, const std::string& param) {
  ApiError api_error = by_status(error, param);
  api_error.line_ = error.line();
  api_error.column_ = error.column();
  return api_error;
}

ApiError ApiError::too_long(const Overflow& overflow, const std::string& param) {
  const std::string window = std::to_string(overflow.window),
                    prompt = std::to_string(overflow.prompt);
  const std::string where = param == "messages" ? "messages" : "prompt";
  // Where the prompt alone fits, what is asked for with it does not.
  const std::string found = overflow.prompt > overflow.window
                                ? "your " + where + " resulted in " + prompt + " tokens"
                                : "you requested " +
                                      std::to_string(overflow.prompt + overflow.answer) +
                                      " tokens (" + prompt + " in the " + where + ", " +
                                      std::to_string(overflow.answer) + " in the completion)";
  ApiError error = {400, "invalid_request_error",
                    "This model's maximum context length is " + window + " tokens. However, " +
                        found + ". Please reduce the length of the " + where + ".",
                    param, "context_length_exceeded"};
  error.anthropic_message_ = "prompt is too long: " + prompt + " tokens > " +
                             std::to_string(overflow.window - overflow.answer) + " maximum";
  return error;
}

ApiError ApiError::too_busy() {
  return {429, "rate_limit_error", "too many requests wait already: come again in a second", "",
          "rate_limit_exceeded"};
}

ApiError ApiError::too_late() {
  return {504, "timeout_error", "the answer took longer than this server gives it", "",
          "deadline_exceeded"};
}

Json ApiError::openai() const {
  Json error = Json::object()
                   .set("message", what())
                   .set("type", type_)
                   .set("param", or_null(param_))
                   .set("code", or_null(code_));
  if (line_ > 0) error.set("line", line_).set("column", column_);
  return Json::object().set("error", error);
}

Json ApiError::anthropic() const {
  const std::string message = anthropic_message_.empty() ? what() : anthropic_message_;
  return Json::object()
      .set("type", "error")
      .set("error", Json::object().set("type", anthropic_type(status_)).set("message", message));
}

Json ApiError::ollama() const {
  return Json::object().set("error", what());
}

HttpResponse to_response(const ApiError& error, Protocol protocol) {
  HttpResponse response;
  response.status = error.status();
  switch (protocol) {
    case Protocol::kOpenAi:
      response.body = error.openai().dump();
      break;
    case Protocol::kAnthropic:
      response.body = error.anthropic().dump();
      break;
    case Protocol::kOllama:
      response.body = error.ollama().dump();
      break;
  }
  if (error.status() == 429 || error.status() == 503)
    response.headers.push_back({"retry-after", "1"});
  if (error.status() == 401) response.headers.push_back({"www-authenticate", "Bearer"});
  return response;
}

}  // namespace pc::serve
