#include "runtime/jinja/library/tests.h"

#include <array>

#include "runtime/jinja/library/filters.h"
#include "runtime/jinja/library/operators.h"
#include "runtime/jinja/values/iterate.h"

namespace pc::jinja {
namespace {

using Test = bool (*)(const Value& value);

// A test of the value alone.
template <Test test>
Result<Value> plain(Runtime&, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("test", arguments, {}));
  return boolean(test(self));
}

bool is_defined(const Value& v) {
  return !v.is(Kind::kUndefined);
}
bool is_undefined(const Value& v) {
  return v.is(Kind::kUndefined);
}
bool is_none(const Value& v) {
  return v.is(Kind::kNone);
}
bool is_boolean(const Value& v) {
  return v.is(Kind::kBool);
}
bool is_false(const Value& v) {
  return v.is(Kind::kBool) && v.integer == 0;
}
bool is_the_true(const Value& v) {
  return v.is(Kind::kBool) && v.integer != 0;
}
bool is_integer(const Value& v) {
  return v.is(Kind::kInt);
}
bool is_float(const Value& v) {
  return v.is(Kind::kFloat);
}
bool is_number(const Value& v) {
  return v.is_number();
}
bool is_string(const Value& v) {
  return v.is(Kind::kString);
}
bool is_mapping(const Value& v) {
  return v.is(Kind::kDict);
}
bool can_iterate(const Value& v) {
  return is_iterable(v);
}
bool is_sequence(const Value& v) {
  return v.is(Kind::kString) || v.is(Kind::kList) || v.is(Kind::kTuple) || v.is(Kind::kDict) ||
         v.is(Kind::kRange) || v.is(Kind::kUndefined);
}
enum class Order { kEqual, kUnequal, kLess, kLessOrEqual, kGreater, kGreaterOrEqual, kIn };
constexpr std::string_view kSymbols[] = {"==", "!=", "<", "<=", ">", ">=", "in"};

template <Order order>
Result<Value> compares(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const std::string_view symbol = kSymbols[static_cast<int>(order)];
  PC_TRY(const Bound bound, Bound::bind(symbol, arguments, {"other"}, 1));
  PC_TRY(const bool holds, compare_by(runtime, symbol, self, *bound.get(0)));
  return boolean(holds);
}

constexpr std::array<Method, 29> kTests = {{
    {"defined", plain<is_defined>},
    {"undefined", plain<is_undefined>},
    {"none", plain<is_none>},
    {"boolean", plain<is_boolean>},
    {"false", plain<is_false>},
    {"true", plain<is_the_true>},
    {"integer", plain<is_integer>},
    {"float", plain<is_float>},
    {"number", plain<is_number>},
    {"string", plain<is_string>},
    {"mapping", plain<is_mapping>},
    {"iterable", plain<can_iterate>},
    {"sequence", plain<is_sequence>},
    {"in", compares<Order::kIn>},
    {"==", compares<Order::kEqual>},
    {"eq", compares<Order::kEqual>},
    {"equalto", compares<Order::kEqual>},
    {"!=", compares<Order::kUnequal>},
    {"ne", compares<Order::kUnequal>},
    {">", compares<Order::kGreater>},
    {"gt", compares<Order::kGreater>},
    {"greaterthan", compares<Order::kGreater>},
    {"ge", compares<Order::kGreaterOrEqual>},
    {">=", compares<Order::kGreaterOrEqual>},
    {"<", compares<Order::kLess>},
    {"lt", compares<Order::kLess>},
    {"lessthan", compares<Order::kLess>},
    {"<=", compares<Order::kLessOrEqual>},
    {"le", compares<Order::kLessOrEqual>},
}};

}  // namespace

Function find_test(std::string_view name) {
  for (const Method& test : kTests)
    if (test.name == name) return test.function;
  return nullptr;
}

}  // namespace pc::jinja
