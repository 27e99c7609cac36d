#include "runtime/jinja/values/callable.h"

#include "runtime/jinja/values/compare.h"

namespace pc::jinja {
namespace {

struct Native final : Callable {
  std::string name;
  Function function;
  Value self;

  Result<Value> call(Runtime& runtime, const Arguments& arguments) override {
    return function(runtime, self, arguments);
  }
  Result<std::string> repr() override { return "<function " + name + ">"; }
};

Error bad_call(std::string_view function, std::string what) {
  return error(Code::kInvalidArgument, std::string(function) + "() " + std::move(what));
}

}  // namespace

const Value* Arguments::find(std::string_view name) const {
  for (const auto& [key, value] : named)
    if (key == name) return &value;
  return nullptr;
}

Result<std::optional<Value>> Callable::attribute(Runtime&, std::string_view) {
  return std::optional<Value>();
}

Result<Value> make_function(Budget* budget, std::string_view name, Function function, Value self) {
  if (budget) PC_CHECK_OK(budget->reserve(sizeof(Native)));
  auto object = std::make_shared<Native>();
  object->budget = budget;
  object->bytes = sizeof(Native);
  object->name = name;
  object->function = function;
  if (self.object) object->depth = self.object->depth + 1;
  object->self = std::move(self);
  return Value{.kind = Kind::kCallable, .integer = 0, .object = std::move(object)};
}

Result<Bound> Bound::bind(std::string_view function, const Arguments& arguments,
                          std::initializer_list<const char*> parameters, std::size_t n_required) {
  Bound bound;
  bound.function_ = function;
  bound.names_ = parameters;
  bound.values_.resize(parameters.size());
  if (arguments.positional.size() > parameters.size())
    return bad_call(function, "takes at most " + std::to_string(parameters.size()) +
                                  " arguments, not " + std::to_string(arguments.positional.size()));
  for (std::size_t i = 0; i < arguments.positional.size(); ++i)
    bound.values_[i] = arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    std::size_t i = 0;
    while (i < bound.names_.size() && name != bound.names_[i]) ++i;
    if (i == bound.names_.size())
      return bad_call(function, "got an unexpected keyword argument '" + name + "'");
    if (bound.values_[i]) return bad_call(function, "got two values for '" + name + "'");
    bound.values_[i] = value;
  }
  for (std::size_t i = 0; i < n_required; ++i)
    if (!bound.values_[i])
      return bad_call(function, "is missing its argument '" + std::string(bound.names_[i]) + "'");
  return bound;
}

Result<Bound> Bound::positional(std::string_view function, const Arguments& arguments,
                                std::initializer_list<const char*> parameters,
                                std::size_t n_required) {
  if (!arguments.named.empty()) return bad_call(function, "takes no keyword arguments");
  return bind(function, arguments, parameters, n_required);
}

Error Bound::wrong_type(std::size_t i, std::string_view wanted) const {
  const Value& value = *get(i);
  if (value.is(Kind::kUndefined)) return error(Code::kInvalidArgument, value.reason());
  return bad_call(function_, "argument '" + std::string(names_[i]) + "' is " + type_name(value) +
                                 ", wanted " + std::string(wanted));
}

Result<std::int64_t> Bound::integer(std::size_t i, std::int64_t fallback) const {
  if (!get(i)) return fallback;
  if (!get(i)->is_integral()) return wrong_type(i, "an integer");
  return get(i)->integer;
}

Result<std::string> Bound::string(std::size_t i, std::string_view fallback) const {
  if (!get(i)) return std::string(fallback);
  if (!get(i)->is(Kind::kString)) return wrong_type(i, "a string");
  return get(i)->text();
}

bool Bound::truth(std::size_t i, bool fallback) const {
  return get(i) ? is_true(*get(i)) : fallback;
}

}  // namespace pc::jinja
