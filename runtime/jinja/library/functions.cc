#include "runtime/jinja/library/functions.h"

#include <array>
#include <memory>

#include "base/utf8.h"
#include "runtime/jinja/library/methods.h"
#include "runtime/jinja/values/iterate.h"
#include "runtime/jinja/values/print.h"

namespace pc::jinja {
namespace {

Result<Value> range(Runtime& runtime, const Value&, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("range", arguments, {"start", "stop", "step"}, 1));
  PC_TRY(const std::int64_t first, bound.integer(0, 0));
  if (!bound.get(1)) return make_range(&runtime.budget, 0, first, 1);
  PC_TRY(const std::int64_t stop, bound.integer(1, 0));
  PC_TRY(const std::int64_t step, bound.integer(2, 1));
  return make_range(&runtime.budget, first, stop, step);
}

// Entries of dict(mapping or pairs, name=value, ...), which namespace() takes too.
Result<std::vector<std::pair<Value, Value>>> entries_of(Runtime& runtime,
                                                        const Arguments& arguments) {
  std::vector<std::pair<Value, Value>> entries;
  if (arguments.positional.size() > 1)
    return error(Code::kInvalidArgument, "dict expected at most 1 argument");
  for (const Value& given : arguments.positional) {
    if (given.is(Kind::kDict)) {
      entries = given.dict().entries;
      continue;
    }
    PC_TRY(const std::vector<Value> pairs, elements(&runtime.budget, given));
    for (const Value& pair : pairs) {
      PC_TRY(const std::vector<Value> both, elements(&runtime.budget, pair));
      if (both.size() != 2)
        return error(Code::kInvalidArgument, "dictionary update sequence wants pairs");
      entries.emplace_back(both[0], both[1]);
    }
  }
  for (const auto& [name, value] : arguments.named) {
    PC_TRY(Value key, make_string(&runtime.budget, name));
    entries.emplace_back(std::move(key), value);
  }
  return entries;
}

Result<Value> dict(Runtime& runtime, const Value&, const Arguments& arguments) {
  PC_TRY(auto entries, entries_of(runtime, arguments));
  return make_dict(&runtime.budget, std::move(entries));
}

Result<Value> name_space(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Value attributes, dict(runtime, self, arguments));
  auto object = std::make_unique<Namespace>();
  for (const auto& [key, value] : attributes.dict().entries)
    if (key.is(Kind::kString)) object->attributes.emplace_back(key.text(), value);
  return runtime.own(Kind::kNamespace, std::move(object));
}

Result<Value> raise_exception(Runtime& runtime, const Value&, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("raise_exception", arguments, {"message"}, 1));
  PC_TRY(const std::string message, to_str(&runtime.budget, *bound.get(0)));
  return error(Code::kInvalidArgument, std::string(kRaised) + message);
}

Result<Value> strftime_now(Runtime& runtime, const Value&, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("strftime_now", arguments, {"format"}, 1));
  PC_TRY(const std::string form, bound.string(0, ""));
  constexpr std::size_t kMaxForm = 4096;
  if (form.size() > kMaxForm)
    return error(Code::kUnsupported, "a format of a time with more than 4096 bytes");
  std::string text = runtime.strftime_now(form);
  if (!is_utf8(text)) return error(Code::kUnsupported, "a time that is not written in UTF-8");
  return make_string(&runtime.budget, std::move(text));
}

constexpr std::array<Method, 5> kFunctions = {{
    {"range", range},
    {"dict", dict},
    {"namespace", name_space},
    {"raise_exception", raise_exception},
    {"strftime_now", strftime_now},
}};

}  // namespace

Function find_function(std::string_view name) {
  for (const Method& function : kFunctions)
    if (function.name == name) return function.function;
  return nullptr;
}

}  // namespace pc::jinja
