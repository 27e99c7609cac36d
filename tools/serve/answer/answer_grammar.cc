#include "tools/serve/answer/answer_grammar.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "runtime/calls/reading/call_reader.h"
#include "runtime/calls/writing/call_grammar.h"
#include "tools/serve/request/api_error.h"

namespace pc::serve {
namespace {

using calls::call_trigger;
using constrain::Grammar;

Grammar calls_of(const Question& question, const CallShape& shape) {
  std::vector<Grammar> alternatives;
  std::size_t number = 0;
  for (const Json& tool : question.chat["tools"].items()) {
    const Json function = tool["function"];
    const bool is_wanted = question.tool_choice.lets_call(function["name"].string());
    if (is_wanted && !calls::can_name(shape, function["name"].string()))
      throw ApiError::bad_request(calls::kBareNames,
                                  "tools[" + std::to_string(number) + "].function.name");
    if (is_wanted) alternatives.push_back(calls::call_grammar(shape, function, number));
    ++number;
  }
  return alternatives.size() == 1 ? alternatives.front() : constrain::choice(alternatives);
}

// where: in messages.
Grammar one_of(const std::vector<std::string>& texts, const std::string& where) {
  std::vector<Grammar> alternatives;
  for (const std::string& text : texts)
    alternatives.push_back(
        constrain::literal(text, where + "[" + std::to_string(alternatives.size()) + "]"));
  return alternatives.size() == 1 ? alternatives.front() : constrain::choice(alternatives, where);
}

Grammar form_of(const Format& format) {
  switch (format.kind) {
    case Format::Kind::kChoice:
      return one_of(format.choices, format.where);
    case Format::Kind::kGbnf:
      return constrain::gbnf_grammar(format.gbnf, format.where);
    case Format::Kind::kSchema:
      return constrain::json_schema(
          format.schema, format.where,
          format.strict ? constrain::Strictness::kStrict : constrain::Strictness::kBestEffort);
    case Format::Kind::kText:
    case Format::Kind::kJson:
      break;
  }
  return constrain::json_object();
}

// Is there a tool whose calls are held to what it takes, or one that may not be called?
bool restricts_calls(const ToolChoice& choice, const Json& tools) {
  return std::ranges::any_of(tools.items(), [&](const Json& tool) {
    const Json function = tool["function"];
    return function["strict"].truth() || !choice.lets_call(function["name"].string());
  });
}

const CallShape& written_shape(const ServedModel& model) {
  const std::optional<CallShape>& shape = model.marked_call_shape();
  if (!shape)
    throw ApiError::bad_request(
        "this model's chat template writes no calls of tools that can be read", "tool_choice");
  return *shape;
}

// A call is known by its first word, from which on it is held to what its tool takes.
AnswerRules held_calls(const Question& question, const ServedModel& model) {
  const std::string word(call_trigger(*model.call_shape()));
  CallShape rest = written_shape(model);
  const std::string marked(call_trigger(rest));
  if (word.empty() || !rest.written_begin.starts_with(marked))
    return {{},
            "\"strict\" of a tool holds where tool_choice demands a call: this model's calls begin "
            "with no word of their own"};
  rest.written_begin.erase(0, marked.size());
  return {constrain::watched_text({word, marked}, calls_of(question, rest)), {}};
}

// Of a prompt with tools of which none may be called now.
AnswerRules no_calls(const ServedModel& model) {
  return {constrain::text_without({std::string(call_trigger(*model.call_shape())),
                                   std::string(call_trigger(written_shape(model)))}),
          {}};
}

}  // namespace

AnswerRules answer_rules(const Question& question, const ServedModel& model) {
  const ToolChoice& choice = question.tool_choice;
  if (choice.must_call()) return {calls_of(question, written_shape(model)), {}};
  const Json tools = question.chat["tools"];
  const bool calls_none = tools.is_null() || choice.kind == ToolChoice::Kind::kNone;
  const bool has_form = question.format.kind != Format::Kind::kText;
  if (!has_form && calls_none) return tools.is_null() ? AnswerRules() : no_calls(model);
  if (!has_form)
    return restricts_calls(choice, tools) ? held_calls(question, model) : AnswerRules();
  const Grammar form = form_of(question.format);
  if (calls_none) return {form, {}};
  return {constrain::choice({calls_of(question, written_shape(model)), form}), {}};
}

}  // namespace pc::serve
