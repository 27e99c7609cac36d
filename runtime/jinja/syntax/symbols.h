// The names of one scope of a template while it is being resolved. Internal to
// scope.cc.
//
// A scope reads a name (from the scopes around it, else from the template's
// arguments), assigns it, or has it as a parameter; what it holds before the
// scope's first statement follows from which of these comes first, and from
// whether it comes in a branch. Threads: thread-compatible.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "runtime/jinja/syntax/ast.h"

namespace pc::jinja {

// Variables of one function. Scopes of equal level share the variable of a name.
struct FrameLayout {
  FrameLayout* outer = nullptr;
  std::map<std::pair<int, std::string>, std::uint32_t> slots;

  std::uint32_t slot(int level, const std::string& name) {
    return slots.try_emplace({level, name}, static_cast<std::uint32_t>(slots.size())).first->second;
  }
};

class Symbols {
 public:
  Symbols(Symbols* outer, FrameLayout* function)
      : outer_(outer), function_(function), level_(outer ? outer->level_ + 1 : 0) {}

  void load(const std::string& name);
  void store(const std::string& name);
  void parameter(const std::string& name);
  // The branches of an if, each a copy of this scope that went its own way.
  void join(const std::vector<Symbols>& branches);

  // As seen from code of function `from`. Precondition: loaded or stored here or outside.
  VariableSlot resolve(const std::string& name, const FrameLayout* from) const;
  Scope scope() const;
  FrameLayout* function() const { return function_; }

 private:
  struct Variable {
    std::uint32_t slot = 0;
    bool is_parameter = false;
    FrameLoad load = {};
  };
  const Symbols* owner(const std::string& name) const;
  Variable& define(const std::string& name, FrameLoad::From from);
  std::optional<VariableSlot> resolve_outer(const std::string& name) const;

  Symbols* outer_;
  FrameLayout* function_;
  int level_;
  std::map<std::string, Variable> variables_;
  std::set<std::string> stores_;
};

}  // namespace pc::jinja
