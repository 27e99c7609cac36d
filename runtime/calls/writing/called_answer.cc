#include "runtime/calls/writing/called_answer.h"

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/calls/writing/told_calls.h"

namespace pc::calls {
namespace {

constexpr std::size_t kMaxDepth = 64;

// Nothing where they are no object. None are an object without members.
std::optional<Json> object_in(const Json& arguments) {
  if (arguments.is_null() || arguments == Json("")) return Json::object();
  if (!arguments.is_string())
    return arguments.is_object() ? std::optional(arguments) : std::nullopt;
  const auto read = Json::parse(arguments.view(), kMaxDepth);
  return read.ok() && read->is_object() ? std::optional(*read) : std::nullopt;
}

// Of each call of the message, in its order.
template <class Change>
Json with_functions(const Json& message, Change change) {
  Json list = Json::array(), out = message;
  for (Json call : message["tool_calls"].items())
    list.push(call.set("function", change(call["function"])));
  return out.set("tool_calls", list);
}

}  // namespace

Result<Json> with_argument_objects(const Json& message) {
  const std::vector<Json> calls = message["tool_calls"].items();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Json function = calls[i]["function"];
    const std::string where = "tool_calls[" + std::to_string(i) + "].function";
    if (!calls[i].is_object() || !function.is_object() || function["name"].view().empty())
      return error(Code::kInvalidArgument, where + " must be an object with a \"name\"");
    if (!object_in(function["arguments"]))
      return error(Code::kInvalidArgument,
                   where + ".arguments must be an object, or a string that is one in JSON");
  }
  if (calls.empty()) return message;
  return with_functions(message, [](Json function) {
    return function.set("arguments", *object_in(function["arguments"]));
  });
}

Json called_answer(const Json& message, const CallShape& shape) {
  if (message["tool_calls"].items().empty()) return message;
  if (shape.is_told) return with_told_calls(message, shape);
  Json out = message;
  if (shape.wants_text)
    out = with_functions(message, [](Json function) {
      return function.set("arguments", function["arguments"].dump());
    });
  if (shape.wants_null && message["content"] == Json("")) out.set("content", Json());
  return out;
}

}  // namespace pc::calls
