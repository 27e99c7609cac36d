// The fields of a request's JSON object, read one by one: each of its type and in its range, or an
// error that names it. What was not read by the end can be named, too.
//
// null counts as absent, as clients send it for what they leave open. Value that owns a copy of its
// object. Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tools/serve/request/api_error.h"

namespace pc::serve {

// A request's body, which must be an object. At most 64 arrays and objects in each other.
Json read_body(const std::string& body);

class Fields {
 public:
  // path: "" for the body, "tools[3].function" for what is in it. Throws where it is no object.
  explicit Fields(Json object, std::string path = {});

  // All throw ApiError.
  std::optional<std::string> string(const char* name);
  std::optional<bool> boolean(const char* name);
  std::optional<double> number(const char* name, double least, double most);
  std::optional<std::int64_t> integer(const char* name, std::int64_t least, std::int64_t most);
  std::optional<Json> array(const char* name);
  std::optional<Json> object(const char* name);
  std::optional<Json> any(const char* name);
  // A string, or a list of strings.
  std::vector<std::string> strings(const char* name, std::size_t most);
  std::string required_string(const char* name);
  // One of these words, the first where it is absent.
  std::string word(const char* name, const std::vector<std::string>& words);

  // Must be absent or have one of these values: what this server does not do otherwise.
  void only(const char* name, const std::vector<Json>& values, const std::string& why);

  [[noreturn]] void refuse(const std::string& name, const std::string& what) const;

  // Those that nobody asked for.
  std::vector<std::string> unread() const;

 private:
  std::string path_of(const std::string& name) const {
    return path_.empty() ? name : path_ + "." + name;
  }

  Json object_;
  std::string path_;
  std::set<std::string> read_;
};

// Calls visit(item, "path[i]") for each item of an array.
void for_each_item(const Json& array, const std::string& path,
                   const std::function<void(const Json&, const std::string&)>& visit);

}  // namespace pc::serve
