// A function to call, borrowed: the caller keeps what it refers to alive, and nothing is
// allocated. A value of two pointers; one that refers to nothing is false.
#pragma once

#include <type_traits>

namespace pc {

template <class Signature>
class FunctionRef;

template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  FunctionRef() = default;

  template <class F>
  requires std::is_invocable_r_v<Result, const F&, Arguments...> FunctionRef(  // NOLINT: converts
      const F& f)  // as a lambda does to any parameter of its type
      : object_(&f), call_([](const void* object, Arguments... arguments) -> Result {
          return (*static_cast<const F*>(object))(arguments...);
        }) {}

  explicit operator bool() const { return call_; }
  Result operator()(Arguments... arguments) const { return call_(object_, arguments...); }

 private:
  const void* object_ = nullptr;
  Result (*call_)(const void*, Arguments...) = nullptr;
};

}  // namespace pc
