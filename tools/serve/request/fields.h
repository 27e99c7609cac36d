// Reads the fields of a request's JSON object one by one. A field of another type or out of its
// range is an error that names it. The fields that nobody has read at the end can be listed, at any
// depth: inside() reads an object within this one, and shares the list with it.
//
// null counts as absent, as clients send it for what they leave open. Owns a copy of its object; a
// copy of Fields stands for the same object, and what is read of one is read of both. Threads: one
// at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
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
  // A body. path: of what is no body, in errors. Throws where it is no object.
  explicit Fields(Json object, std::string path = {});

  // An object within this one. path: from the body on, "tools[3].function". Throws where it is
  // none.
  Fields inside(const Json& object, const std::string& path) const;

  // All throw ApiError.
  std::optional<std::string> string(const char* name);
  std::optional<bool> boolean(const char* name);
  std::optional<double> number(const char* name, double least, double most);
  std::optional<std::int64_t> integer(const char* name, std::int64_t least, std::int64_t most);
  // A number of 64 bits for a generator: those below zero and beyond are taken modulo 2^64, those
  // beyond as the nearest double has them.
  std::optional<std::uint64_t> seed(const char* name);
  std::optional<Json> array(const char* name);
  std::optional<Json> object(const char* name);
  std::optional<Fields> nested(const char* name);  // that object's fields
  std::optional<Json> any(const char* name);
  // A string, or a list of strings.
  std::vector<std::string> strings(const char* name, std::size_t most);
  std::string required_string(const char* name);
  // One of these words, the first where it is absent.
  std::string word(const char* name, const std::vector<std::string>& words);

  // A field that must be absent or have one of these values, since this server does only that.
  void only(const char* name, const std::vector<Json>& values, const std::string& why);

  [[noreturn]] void refuse(const std::string& name, const std::string& what) const;

  // Marks fields as read whatever they are: clients send them back as they got them, and a model
  // needs none of them.
  void skip(const std::vector<const char*>& names);

  // A sentence for the client about what it sent; told by remarks().
  void remark(std::string sentence);
  // What is understood and left out: told by unread(), and why by remarks(). path: from the body.
  void leave_out(const std::string& path, const std::string& why);
  // Leaves out this whole object. why: "is of type \"x\", ..."
  void leave_out(const std::string& why);

  // The paths of all fields that nobody has read, here and inside, and of what was left out.
  std::vector<std::string> unread() const;
  std::vector<std::string> remarks() const;

  const std::string& path() const;
  std::string path_of(const std::string& name) const;

 private:
  struct Node;
  explicit Fields(std::shared_ptr<Node> node) : node_(std::move(node)) {}

  std::shared_ptr<Node> node_;
};

// Calls visit(item, "path[i]") for each item of an array.
void for_each_item(const Json& array, const std::string& path,
                   const std::function<void(const Json&, const std::string&)>& visit);

}  // namespace pc::serve
