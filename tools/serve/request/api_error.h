// What a request is refused with, in words that name the parameter, and its shape in each
// protocol.
//
// Thrown by whoever reads requests and answers them; caught where the route ends.
#pragma once

#include <cstdint>
#include <promptcache/promptcache.hpp>
#include <stdexcept>
#include <string>

#include "tools/output/json.h"
#include "tools/serve/http/http.h"

namespace pc::serve {

using cli::Json;

// What the context window has no room for, in tokens.
struct Overflow {
  std::uint64_t prompt;
  std::uint64_t answer;  // at least
  std::uint64_t window;
};

class ApiError : public std::runtime_error {
 public:
  // type, code: OpenAI's words ("invalid_request_error", "context_length_exceeded"); param: the
  // path of the value ("messages[2].content"). "": null.
  ApiError(int status, std::string type, const std::string& message, std::string param = {},
           std::string code = {})
      : std::runtime_error(message),
        status_(status),
        type_(std::move(type)),
        param_(std::move(param)),
        code_(std::move(code)) {}

  // Of the library. What a client can mend is 400, what the server lacks is 5xx. param: of what it
  // is about, where that is known.
  static ApiError of(const promptcache::Error& error, const std::string& param = {});
  static ApiError bad_request(const std::string& message, const std::string& param = {}) {
    return {400, "invalid_request_error", message, param};
  }
  // In the sentence by which clients of each protocol know that a conversation has to be cut.
  // param: the field that has the prompt.
  static ApiError too_long(const Overflow& overflow, const std::string& param);
  static ApiError too_busy();
  static ApiError too_late();

  int status() const { return status_; }
  // {"error": {"message", "type", "param", "code"}}, and "line", "column" of a place in PML
  Json openai() const;
  Json ollama() const;     // {"error": message}
  Json anthropic() const;  // {"type": "error", "error": {"type", "message"}}

 private:
  int status_;
  std::string type_, param_, code_;
  std::string anthropic_message_;        // "": what()
  std::uint32_t line_ = 0, column_ = 0;  // 0: not about a place
};

enum class Protocol { kOpenAi, kAnthropic, kOllama };

HttpResponse to_response(const ApiError& error, Protocol protocol);

}  // namespace pc::serve
