// A macro, or the body of a {% call %} that a macro calls back.
//
// Belongs to the rendering's arena, with the frame that it was made in.
#pragma once

#include <string>

#include "runtime/jinja/interpreter/interpreter.h"

namespace pc::jinja {

struct Macro final : Callable {
  Interpreter* interpreter = nullptr;
  const Stmt* stmt = nullptr;
  Frame* outer = nullptr;

  Result<Value> call(Runtime& runtime, const Arguments& arguments) override;
  Result<std::string> repr() override;
  Result<std::optional<Value>> attribute(Runtime& runtime, std::string_view name) override;

  // "'name'", or "None" for a caller.
  std::string name() const;
};

}  // namespace pc::jinja
