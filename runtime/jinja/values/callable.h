// What a template can call, and what a call needs.
//
// Arguments are positional and named. A Runtime is the state of one rendering:
// budget, clock, and the arena that owns everything that can change. Callables
// outlive their call where the arena or a value holds them.
// Threads: one rendering, one runtime, one thread.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "runtime/jinja/values/value.h"

namespace pc::jinja {

// What strftime_now(form) says, by C's strftime(3).
using StrftimeNow = std::function<std::string(const std::string& form)>;

struct Runtime {
  Runtime(const Limits& limits, StrftimeNow clock)
      : budget(limits), strftime_now(std::move(clock)) {}

  Budget budget;
  StrftimeNow strftime_now;
  std::vector<std::unique_ptr<Object>> arena;  // destroyed before the budget

  // A value that points at a new object of the arena.
  template <class T>
  Result<Value> own(Kind kind, std::unique_ptr<T> object) {
    PC_CHECK_OK(budget.reserve(sizeof(T)));
    T* raw = object.get();
    arena.push_back(std::move(object));
    return Value{.kind = kind, .integer = 0, .object = {std::shared_ptr<void>(), raw}};
  }
};

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;

  const Value* find(std::string_view name) const;
};

struct Callable : Object {
  virtual Result<Value> call(Runtime& runtime, const Arguments& arguments) = 0;
  virtual Result<std::string> repr() = 0;
  // `.name` of it; nothing where there is no such attribute.
  virtual Result<std::optional<Value>> attribute(Runtime& runtime, std::string_view name);
};

using Function = Result<Value> (*)(Runtime& runtime, const Value& self, const Arguments& arguments);

// A function of ours; `self` is what a method was taken from.
Result<Value> make_function(Budget* budget, std::string_view name, Function function,
                            Value self = {});

// Arguments by the names of their parameters, in Python's manner.
class Bound {
 public:
  // `function` stands in messages. The first n_required parameters must be given.
  static Result<Bound> bind(std::string_view function, const Arguments& arguments,
                            std::initializer_list<const char*> parameters,
                            std::size_t n_required = 0);

  // The same for Python's own methods, which take no names.
  static Result<Bound> positional(std::string_view function, const Arguments& arguments,
                                  std::initializer_list<const char*> parameters,
                                  std::size_t n_required = 0);

  // The i-th parameter's argument; nullptr when it was not given.
  const Value* get(std::size_t i) const { return values_[i] ? &*values_[i] : nullptr; }

  // With a default; an argument of another type is an error.
  Result<std::int64_t> integer(std::size_t i, std::int64_t fallback) const;
  Result<std::string> string(std::size_t i, std::string_view fallback) const;
  bool truth(std::size_t i, bool fallback) const;
  // Given, and not none.
  bool has(std::size_t i) const { return get(i) && !get(i)->is(Kind::kNone); }

 private:
  Error wrong_type(std::size_t i, std::string_view wanted) const;

  std::string function_;
  std::vector<const char*> names_;
  std::vector<std::optional<Value>> values_;
};

}  // namespace pc::jinja
