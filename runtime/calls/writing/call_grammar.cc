#include "runtime/calls/writing/call_grammar.h"

#include <string>

#include "runtime/calls/shape/call_cursor.h"

namespace pc::calls {
namespace {

using constrain::Grammar;
using constrain::Strictness;

// Described without parameters, or with properties of which there are none: as with those that are
// named, there are no others unless the schema says so.
bool takes_none(const Json& parameters) {
  if (parameters.is_null()) return true;
  const Json properties = parameters["properties"];
  for (const std::string& key : parameters.keys())
    if (key != "type" && key != "properties" && key != "required" && key != "title" &&
        key != "description" && key != "$schema" && parameters[key] != Json(false))
      return false;
  return properties.is_object() && properties.keys().empty() &&
         parameters["required"].items().empty();
}

Grammar json_of(const Json& parameters, const std::string& where, Strictness strictness) {
  if (takes_none(parameters)) return constrain::literal("{}");
  if (parameters.keys().empty()) return constrain::json_object();
  return constrain::json_schema(parameters, where, strictness);
}

}  // namespace

Grammar call_grammar(const CallShape& shape, const Json& function, std::size_t number) {
  const Json name = function["name"], parameters = function["parameters"];
  const std::string where = "tools[" + std::to_string(number) + "].function.parameters";
  const Json members = parameters.is_object() ? parameters : Json::object();
  const Strictness strictness =
      function["strict"].truth() ? Strictness::kStrict : Strictness::kBestEffort;
  std::string open = shape.written_begin, end = shape.written_end;
  switch (shape.kind) {
    case CallShape::Kind::kHeader:
      open += name.string() + shape.written_middle;
      break;
    case CallShape::Kind::kObject:
      open += "{" + Json(shape.name_key).dump() + ": " + name.dump() + ", " +
              Json(shape.arguments_key).dump() + ": ";
      end = "}" + end;
      break;
    case CallShape::Kind::kParameters:
      return constrain::sequence(
          {constrain::literal(open + name.string() + shape.after_name),
           constrain::written_members(
               members, where,
               {shape.key_open, shape.key_close, shape.value_close, shape.between_values},
               strictness),
           constrain::literal(end)});
    case CallShape::Kind::kPython:
      return constrain::sequence(
          {constrain::literal(open + name.string() + "("),
           constrain::written_members(members, where, {"", "=", "", ", ", true}, strictness),
           constrain::literal(")" + end)});
  }
  return constrain::sequence(
      {constrain::literal(open), json_of(parameters, where, strictness), constrain::literal(end)});
}

CallShape marked(CallShape shape, const constrain::Vocabulary& vocabulary) {
  for (std::string CallShape::*const words :
       {&CallShape::begin, &CallShape::written_begin, &CallShape::written_middle,
        &CallShape::written_end, &CallShape::after_name, &CallShape::key_open,
        &CallShape::key_close, &CallShape::value_close})
    shape.*words = vocabulary.with_controls(shape.*words);
  return shape;
}

bool can_name(const CallShape& shape, std::string_view name) {
  return shape.kind == CallShape::Kind::kObject || is_call_name(name);
}

}  // namespace pc::calls
