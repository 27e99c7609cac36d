#include "runtime/calls/writing/call_learning.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "runtime/calls/reading/call_stream.h"
#include "runtime/calls/shape/call_cursor.h"
#include "runtime/calls/writing/told_calls.h"

namespace pc::calls {
namespace {

// Words that stand nowhere else in a template's text.
constexpr std::string_view kNames[] = {"pqcalled", "pqnext"};
constexpr std::string_view kKeys[] = {"pqkey", "pqother"}, kValues[] = {"pqvalue", "pqsecond"};
constexpr std::string_view kText = "pqtext", kResult = "pqresult";
constexpr std::string_view kIdents[] = {"pqident01", "pqident02"};  // Mistral's have nine letters

Json tools() {
  const Json text = Json::object().set("type", "string").set("description", "x");
  Json list = Json::array();
  for (const std::string_view name : kNames) {
    const Json parameters =
        Json::object()
            .set("type", "object")
            .set("properties", Json::object().set(kKeys[0], text).set(kKeys[1], text))
            .set("required", Json::array().push(kKeys[0]));
    list.push(Json::object()
                  .set("type", "function")
                  .set("function", Json::object()
                                       .set("name", name)
                                       .set("description", "x")
                                       .set("parameters", parameters)));
  }
  return list;
}

std::vector<ToolCall> calls(std::size_t n_calls, std::size_t n_arguments) {
  std::vector<ToolCall> calls;
  for (std::size_t i = 0; i < n_calls; ++i) {
    Json arguments = Json::object();
    for (std::size_t j = 0; j < n_arguments; ++j) arguments.set(kKeys[j], kValues[j]);
    calls.push_back({std::string(kNames[i]), arguments});
  }
  return calls;
}

Json message(const char* role, std::string_view content) {
  return Json::object().set("role", role).set("content", content);
}

// How a conversation is written for a template.
struct Style {
  bool text_arguments = false, null_content = false, has_results = false;
};

Json answer_of(const std::vector<ToolCall>& made, const Style& style) {
  if (made.empty()) return message("assistant", kText);
  Json calls = Json::array();
  for (const ToolCall& call : made) {
    const Json function =
        Json::object()
            .set("name", call.name)
            .set("arguments", style.text_arguments ? Json(call.arguments.dump()) : call.arguments);
    calls.push(Json::object()
                   .set("id", std::string(kIdents[calls.items().size()]))
                   .set("type", "function")
                   .set("function", function));
  }
  Json answer = message("assistant", "");
  if (style.null_content) answer.set("content", Json());
  return answer.set("tool_calls", calls);
}

// A question, and these calls or a text; where a template wants them, what the calls gave.
Json conversation(const std::vector<ToolCall>& made, const Style& style) {
  Json messages = Json::array().push(message("user", "q")).push(answer_of(made, style));
  for (std::size_t i = 0; i < made.size() && style.has_results; ++i)
    messages.push(
        message("tool", kResult).set("name", made[i].name).set("tool_call_id", kIdents[i]));
  return Json::object().set("messages", messages).set("tools", tools());
}

// What both end with.
std::string_view common_end(std::string_view a, std::string_view b) {
  const auto end = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend()).first;
  return a.substr(a.size() - static_cast<std::size_t>(end - a.rbegin()));
}

// What a template writes of answers, found beside what it writes of a plain one.
class Answers {
 public:
  Answers(const RenderConversation& render, const Style& style)
      : render_(render), style_(style), plain_(render(conversation({}, style)).value_or("")) {
    const std::size_t text = plain_.find(kText);
    if (text == plain_.npos) return;
    begin_ = text;
    is_plain_ = true;
  }

  // An answer of these calls, up to what closes its turn.
  std::optional<std::string> of(const std::vector<ToolCall>& made) const {
    const auto text = is_plain_ ? render_(conversation(made, style_)) : std::nullopt;
    if (!text) return std::nullopt;
    const std::size_t begin = begin_in(*text), end = end_in(*text, made.back().name);
    if (end == text->npos || end < begin) return std::nullopt;
    return text->substr(begin, end - begin);
  }

 private:
  // Where it differs from the plain answer; a word that begins alike ("<th", "<to") is all of it.
  std::size_t begin_in(const std::string& text) const {
    const auto differ = std::ranges::mismatch(plain_, text).in1 - plain_.begin();
    const std::size_t begin = std::min(static_cast<std::size_t>(differ), begin_);
    const std::size_t open = begin == 0 ? text.npos : text.find_last_of("<[", begin - 1);
    const bool is_inside =
        open != text.npos && text.substr(open, begin - open).find_first_of("> ]\n\t") == text.npos;
    return is_inside ? open : begin;
  }
  // Where it goes on as the plain answer does; or, where results follow, as that ends its turn.
  std::size_t end_in(const std::string& text, const std::string& last_name) const {
    const std::string_view behind = std::string_view(plain_).substr(begin_ + kText.size());
    if (style_.has_results) {
      const std::string_view close = trimmed(behind);
      const std::size_t last = text.rfind(last_name);
      if (last == text.npos || close.empty()) return text.npos;
      // What ends calls only where a result ends ends something else.
      const std::size_t end = text.find(close, last);
      return text.find(kResult) < end ? text.npos : end;
    }
    const std::size_t end = text.size() - common_end(behind, text).size();
    const std::size_t open = text.find_last_of("<", end == 0 ? 0 : end - 1);
    const bool is_inside =
        open != text.npos && open < end && text.substr(open, end - open).find('>') == text.npos;
    return is_inside ? text.find('>', end) + 1 : end;
  }

  const RenderConversation& render_;
  const Style style_;
  const std::string plain_;
  std::size_t begin_ = 0;  // of the plain answer
  bool is_plain_ = false;
};

struct Learned {
  std::string one;   // call with one argument
  std::string more;  // arguments
  std::string two;   // calls; "" where the template writes only one
};

// Where an object of JSON stands in a text, from `from` on, that `is_it`.
template <class IsIt>
std::optional<std::pair<std::size_t, std::size_t>> find_object(std::string_view text,
                                                               std::size_t from, IsIt is_it) {
  for (std::size_t at = text.find('{', from); at != text.npos; at = text.find('{', at + 1)) {
    CallCursor cursor(text.substr(at));
    const auto json = cursor.take_json();
    if (json && is_it(*json)) return std::pair(at, text.size() - cursor.rest().size());
  }
  return std::nullopt;
}

// The key of an object whose value `is_it`.
template <class IsIt>
std::string key_of(const Json& object, IsIt is_it) {
  for (const std::string& key : object.keys())
    if (is_it(object[key])) return key;
  return {};
}

bool names(const Json& object, std::string_view name) {
  return !key_of(object, [&](const Json& value) { return value == Json(name); }).empty();
}

std::optional<CallShape> learn_object(const Learned& from) {
  CallShape shape;
  const auto is_first = [](const Json& json) { return names(json, kNames[0]); };
  const auto first = find_object(from.one, 0, is_first);
  if (!first) return std::nullopt;
  const std::string_view one = from.one;
  const Json object = *CallCursor(one.substr(first->first)).take_json();
  shape.name_key = key_of(object, [](const Json& v) { return v == Json(kNames[0]); });
  shape.arguments_key = key_of(object, [](const Json& v) {
    return v.is_object() || (v.is_string() && v.string().starts_with('{'));
  });
  shape.written_begin = one.substr(0, first->first);
  shape.written_end = one.substr(first->second);
  std::string_view begin = trimmed(one.substr(0, first->first)),
                   end = trimmed(one.substr(first->second));
  const bool is_list = begin.ends_with('[') && end.starts_with(']');
  shape.begin = is_list ? trimmed(begin.substr(0, begin.size() - 1)) : begin;
  shape.end = is_list ? trimmed(end.substr(1)) : end;
  if (is_list || from.two.empty()) return shape;
  const auto again = find_object(from.two, 0, is_first);
  const auto second = find_object(from.two, again ? again->second : 0,
                                  [](const Json& json) { return names(json, kNames[1]); });
  if (again && second)
    shape.between =
        trimmed(std::string_view(from.two).substr(again->second, second->first - again->second));
  return shape;
}

std::optional<CallShape> learn_header(const Learned& from) {
  CallShape shape;
  shape.kind = CallShape::Kind::kHeader;
  const auto is_arguments = [](const Json& json) { return json[kKeys[0]] == Json(kValues[0]); };
  const std::string_view one = from.one;
  const std::size_t name = one.find(kNames[0]);
  if (name == one.npos) return std::nullopt;
  const auto arguments = find_object(one, name, is_arguments);
  if (!arguments) return std::nullopt;
  const std::size_t name_end = name + kNames[0].size();
  shape.written_begin = one.substr(0, name);
  shape.written_middle = one.substr(name_end, arguments->first - name_end);
  shape.written_end = one.substr(arguments->second);
  shape.begin = trimmed(shape.written_begin);
  shape.end = trimmed(shape.written_end);
  const auto again = find_object(from.two, 0, is_arguments);
  const std::size_t second = from.two.find(kNames[1]);
  if (again && second != from.two.npos && second > again->second)
    shape.between =
        trimmed(std::string_view(from.two).substr(again->second, second - again->second));
  return shape;
}

// The words between known ones, in order; nothing where one is missing.
std::optional<std::vector<std::string_view>> split(std::string_view text,
                                                   std::initializer_list<std::string_view> known) {
  std::vector<std::string_view> parts;
  for (const std::string_view word : known) {
    const std::size_t at = text.find(word);
    if (at == text.npos) return std::nullopt;
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + word.size());
  }
  parts.push_back(text);
  return parts;
}

// What stands before each key: what the text before the first and that before the second end with.
// A word that both have only the end of (">" of "<function=f>" and "</parameter>") is none of it.
std::string_view key_open_in(std::string_view before_first, std::string_view between_values) {
  const std::string_view open = common_end(before_first, between_values);
  const std::string_view close = between_values.substr(0, between_values.size() - open.size());
  const std::size_t tag = close.rfind('<');
  if (tag == close.npos || close.find('>', tag) != close.npos) return open;
  return open.substr(open.find('>') + 1);
}

std::optional<CallShape> learn_parameters(const Learned& from) {
  const auto parts = split(from.more, {kNames[0], kKeys[0], kValues[0], kKeys[1], kValues[1]});
  if (!parts) return std::nullopt;
  const std::string_view before_first = (*parts)[1], between_values = (*parts)[3];
  const std::string_view open = key_open_in(before_first, between_values);
  if (trimmed(open).empty()) return std::nullopt;
  CallShape shape;
  shape.kind = CallShape::Kind::kParameters;
  shape.written_begin = (*parts)[0];
  shape.begin = trimmed(shape.written_begin);
  shape.after_name = before_first.substr(0, before_first.size() - open.size());
  shape.key_open = open;
  shape.key_close = (*parts)[2];
  const std::string_view close = between_values.substr(0, between_values.size() - open.size());
  const std::size_t close_size = close.find_last_not_of(kSpace) + 1;
  shape.value_close = close.substr(0, close_size);
  shape.between_values = close.substr(close_size);
  CallCursor end((*parts)[5]);
  if (trimmed(shape.key_close).empty() || trimmed(shape.value_close).empty() ||
      !end.take(shape.value_close))
    return std::nullopt;
  shape.written_end = end.rest();
  shape.end = trimmed(shape.written_end);
  const auto two = split(from.two, {kNames[0], kValues[0], kNames[1]});
  if (!two) return shape;
  CallCursor between((*two)[2]);
  if (between.take(shape.value_close)) shape.between = trimmed(between.rest());
  return shape;
}

std::optional<CallShape> learn_python(const Learned& from) {
  const auto parts = split(from.more, {kNames[0], kKeys[0], kValues[0], kKeys[1], kValues[1]});
  if (!parts || (*parts)[1] != "(") return std::nullopt;
  const bool is_quoted = (*parts)[2] == "=\"" || (*parts)[2] == "='";
  CallCursor last((*parts)[5].substr(std::min<std::size_t>(1, (*parts)[5].size())));
  if (!is_quoted || !last.take(")")) return std::nullopt;
  CallShape shape;
  shape.kind = CallShape::Kind::kPython;
  shape.written_begin = (*parts)[0];
  shape.written_end = last.rest();
  std::string_view begin = trimmed(shape.written_begin), end = trimmed(shape.written_end);
  if (begin.ends_with('[') && end.starts_with(']')) {
    begin.remove_suffix(1);
    end.remove_prefix(1);
  }
  shape.begin = trimmed(begin);
  shape.end = trimmed(end);
  return shape;
}

// What ends the last call, or as much of it as there is: some templates leave out a part behind a
// single call.
void learn_end(const std::string& two, CallShape* shape) {
  const std::size_t at = two.rfind(shape->end);
  if (at != two.npos && !shape->end.empty()) shape->end = trimmed(std::string_view(two).substr(at));
}

// Does it read what it was learned from?
bool reads(const CallShape& shape, const Learned& from) {
  const ToolTypes types(tools());
  const auto reads_as = [&](const std::string& text, std::size_t n_calls, std::size_t n_arguments) {
    return read_answer(shape, types, text) == ReadAnswer{"", calls(n_calls, n_arguments)};
  };
  return reads_as(from.one, 1, 1) && reads_as(from.more, 1, 2) &&
         (from.two.empty() || reads_as(from.two, 2, 1));
}

// From conversations of one style.
std::optional<CallShape> learn(const RenderConversation& render, const Style& style) {
  const Answers answers(render, style);
  const auto one = answers.of(calls(1, 1)), more = answers.of(calls(1, 2));
  if (!one || !more) return std::nullopt;
  Learned from{*one, *more, answers.of(calls(2, 1)).value_or("")};
  if (from.two.find(kNames[1]) == from.two.npos) from.two.clear();
  for (const auto learn_kind : {learn_object, learn_header, learn_parameters, learn_python}) {
    auto shape = learn_kind(from);
    if (shape) learn_end(from.two, &*shape);
    if (!shape || !reads(*shape, from)) continue;
    shape->wants_text = style.text_arguments;
    shape->wants_null = style.null_content;
    return shape;
  }
  return std::nullopt;
}

// A call that was written into its answer's text, and what it gave.
Json told_conversation() {
  const Json result =
      message("tool", kResult).set("name", kNames[0]).set("tool_call_id", kIdents[0]);
  Json messages = Json::array();
  messages.push(message("user", "q")).push(message("assistant", kText)).push(result);
  return Json::object().set("messages", messages).set("tools", tools());
}

// Where the template writes no calls, or refuses them, and has their results: from what it tells
// the model.
std::optional<CallShape> learn_told(const RenderConversation& render, bool writes_calls) {
  const auto text = writes_calls ? std::nullopt : render(told_conversation());
  const bool has_all = text && text->find(kText) != text->npos && text->find(kResult) != text->npos;
  return has_all ? told_call_shape(*text) : std::nullopt;
}

}  // namespace

std::optional<CallShape> learn_call_shape(const RenderConversation& render) {
  bool writes_calls = false;
  for (const bool text_arguments : {false, true}) {
    for (const bool null_content : {false, true}) {
      for (const bool has_results : {false, true}) {
        const Style style{text_arguments, null_content, has_results};
        if (const auto shape = learn(render, style)) return shape;
        const auto text = render(conversation(calls(1, 1), style));
        writes_calls = writes_calls || (text && text->find(kValues[0]) != text->npos);
      }
    }
  }
  return learn_told(render, writes_calls);
}

}  // namespace pc::calls
