// Who may ask: keys of a file, each of a namespace, whose modules and conversations are its own.
//
// The file has a line for each key: the namespace and the SHA-256 of the key in hexadecimal digits;
// empty lines and those that begin with # do not count. Keys are not in it, so that who reads it
// cannot ask. Immutable value. Threads: any.
#pragma once

#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tools/serve/http/http.h"

namespace pc::serve {

// What is wrong with the file, in one sentence.
struct KeyFileError : std::runtime_error {
  using runtime_error::runtime_error;
};

class ApiKeys {
 public:
  ApiKeys() = default;  // everybody may ask, in the server's own namespace

  // Throws KeyFileError.
  static ApiKeys read_file(const std::string& path);
  // name: of the text, for messages.
  static ApiKeys read(std::string_view text, const std::string& name);

  bool are_needed() const { return is_used_; }
  std::vector<std::string> name_spaces() const;

  // Of the key in "authorization: Bearer KEY" or "x-api-key: KEY"; nothing where keys are needed
  // and it is none. Where none are needed, an empty optional inside.
  std::optional<std::optional<std::string>> name_space_of(const HttpRequest& request) const;
  // Is there a key in either header, whosever it is?
  static bool has_key(const HttpRequest& request);

 private:
  bool is_used_ = false;
  std::map<std::string, std::string> name_spaces_;  // by the key's digest
};

}  // namespace pc::serve
