#include "tools/serve/answer/answer_grammar.h"

#include <string>
#include <utility>
#include <vector>

#include "tools/serve/calls/call_cursor.h"
#include "tools/serve/calls/call_grammar.h"
#include "tools/serve/request/api_error.h"

namespace pc::serve {
namespace {

using constrain::Grammar;

Grammar calls(const Question& question, const CallShape& shape) {
  std::vector<Grammar> alternatives;
  std::size_t number = 0;
  for (const Json& tool : question.chat["tools"].items()) {
    const Json function = tool["function"];
    const bool is_meant = question.tool_choice.kind == ToolChoice::Kind::kRequired ||
                          function["name"] == Json(question.tool_choice.name);
    const bool is_bare = shape.kind != CallShape::Kind::kObject;
    if (is_meant && is_bare && !is_call_name(function["name"].string()))
      throw ApiError::bad_request(
          "this model's chat template writes a tool's name without quotes: letters, digits, _ - . "
          "and : can be told from what stands around it",
          "tools[" + std::to_string(number) + "].function.name");
    if (is_meant) alternatives.push_back(call_grammar(shape, function, number));
    ++number;
  }
  return alternatives.size() == 1 ? alternatives.front() : constrain::choice(alternatives);
}

Grammar one_of(const std::vector<std::string>& texts) {
  std::vector<Grammar> alternatives;
  for (const std::string& text : texts) alternatives.push_back(constrain::literal(text));
  return alternatives.size() == 1 ? alternatives.front() : constrain::choice(alternatives);
}

}  // namespace

std::optional<Grammar> answer_grammar(const Question& question, const ServedModel& model) {
  if (question.must_call()) {
    const std::optional<CallShape>& shape = model.marked_call_shape();
    if (!shape)
      throw ApiError::bad_request(
          "this model's chat template writes no calls of tools that can be read", "tool_choice");
    return calls(question, *shape);
  }
  if (question.format.kind == Format::Kind::kText) return std::nullopt;
  if (!question.chat["tools"].is_null())
    throw ApiError::bad_request(
        "an answer whose form is given cannot call tools; leave \"tools\" out, or choose \"none\"",
        question.format.where);
  if (question.format.kind == Format::Kind::kChoice) return one_of(question.format.choices);
  if (question.format.kind == Format::Kind::kGbnf)
    return constrain::gbnf_grammar(question.format.gbnf, question.format.where);
  if (question.format.kind == Format::Kind::kJson) return constrain::json_object();
  return constrain::json_schema(
      question.format.schema, question.format.where,
      question.format.strict ? constrain::Strictness::kStrict : constrain::Strictness::kBestEffort);
}

}  // namespace pc::serve
