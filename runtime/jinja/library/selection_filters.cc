// Filters that apply a filter or a test to each element: map, select, reject and
// their forms for attributes. What they give is read once, and a failure shows
// when it is reached, as Python's generators have it.
#include <array>

#include "runtime/jinja/library/access.h"
#include "runtime/jinja/library/filters.h"
#include "runtime/jinja/library/left_out.h"
#include "runtime/jinja/library/tests.h"
#include "runtime/jinja/values/compare.h"
#include "runtime/jinja/values/iterate.h"

namespace pc::jinja {
namespace {

Arguments from(const Arguments& arguments, std::size_t first) {
  Arguments rest;
  rest.named = arguments.named;
  for (std::size_t i = first; i < arguments.positional.size(); ++i)
    rest.positional.push_back(arguments.positional[i]);
  return rest;
}

Result<std::string> name_of(const Value& value) {
  if (value.is(Kind::kString)) return value.text();
  return error(Code::kInvalidArgument, "a filter or test is named by a string");
}

// An iterator over what `take` keeps of each element, up to its first failure.
template <class Take>
Result<Value> over_elements(Runtime& runtime, const Value& self, const Take& take) {
  std::vector<Value> kept;
  const auto fill = [&]() -> Status {
    if (!is_true(self)) return ok();
    PC_TRY(Cursor cursor, Cursor::over(&runtime.budget, self));
    while (true) {
      PC_TRY(auto element, cursor.next());
      if (!element) return ok();
      PC_TRY(auto result, take(*element));
      if (result) kept.push_back(std::move(*result));
    }
  };
  Status done = fill();
  if (!done.ok() && done.error().code == Code::kUnsupported) return std::move(done).error();
  PC_TRY(Value iterator, make_iterator(&runtime.budget, std::move(kept)));
  if (!done.ok()) iterator.iterator().failure = std::make_shared<Error>(std::move(done).error());
  return iterator;
}

using Kept = Result<std::optional<Value>>;

Result<Value> map_attribute(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return over_elements(runtime, self, [&](const Value& item) -> Kept {
    for (const auto& given : arguments.named)
      if (given.first != "attribute" && given.first != "default")
        return error(Code::kInvalidArgument, "Unexpected keyword argument '" + given.first + "'");
    const Value* fallback = arguments.find("default");
    if (fallback && fallback->is(Kind::kNone)) fallback = nullptr;
    PC_TRY(Value value, get_path(runtime, item, *arguments.find("attribute"), fallback));
    return std::optional(std::move(value));
  });
}

Result<Value> map(Runtime& runtime, const Value& self, const Arguments& arguments) {
  if (arguments.positional.empty() && arguments.find("attribute"))
    return map_attribute(runtime, self, arguments);
  const Arguments rest = from(arguments, 1);
  return over_elements(runtime, self, [&](const Value& item) -> Kept {
    if (arguments.positional.empty())
      return error(Code::kInvalidArgument, "map requires a filter argument");
    PC_TRY(const std::string name, name_of(arguments.positional[0]));
    const Function filter = find_filter(name);
    if (!filter) return unknown_filter(name);
    PC_TRY(Value value, filter(runtime, item, rest));
    return std::optional(std::move(value));
  });
}

template <bool wanted, bool by_attribute>
Result<Value> select(Runtime& runtime, const Value& self, const Arguments& arguments) {
  constexpr std::size_t kName = by_attribute;  // where the test's name stands
  const Arguments rest = from(arguments, kName + 1);
  return over_elements(runtime, self, [&](const Value& item) -> Kept {
    Value tested = item;
    if (by_attribute) {
      if (arguments.positional.empty())
        return error(Code::kInvalidArgument, "Missing parameter for attribute name");
      PC_TRY(tested, get_path(runtime, item, arguments.positional[0]));
    }
    bool holds = is_true(tested);
    if (arguments.positional.size() > kName) {
      PC_TRY(const std::string name, name_of(arguments.positional[kName]));
      const Function test = find_test(name);
      if (!test) return unknown_test(name);
      PC_TRY(const Value answer, test(runtime, tested, rest));
      holds = is_true(answer);
    }
    return holds == wanted ? std::optional(item) : std::optional<Value>();
  });
}

constexpr std::array<Method, 5> kFilters = {{{"map", map},
                                             {"select", select<true, false>},
                                             {"reject", select<false, false>},
                                             {"selectattr", select<true, true>},
                                             {"rejectattr", select<false, true>}}};

}  // namespace

std::span<const Method> selection_filters() {
  return kFilters;
}

}  // namespace pc::jinja
