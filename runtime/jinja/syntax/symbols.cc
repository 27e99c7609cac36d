#include "runtime/jinja/syntax/symbols.h"

namespace pc::jinja {

const Symbols* Symbols::owner(const std::string& name) const {
  const Symbols* scope = this;
  while (scope && !scope->variables_.contains(name)) scope = scope->outer_;
  return scope;
}

Symbols::Variable& Symbols::define(const std::string& name, FrameLoad::From from) {
  Variable& variable = variables_[name];
  variable.slot = function_->slot(level_, name);
  variable.is_parameter = false;
  variable.load = {from, variable.slot, {}, name};
  return variable;
}

std::optional<VariableSlot> Symbols::resolve_outer(const std::string& name) const {
  if (!outer_ || !outer_->owner(name)) return std::nullopt;
  return outer_->resolve(name, function_);
}

void Symbols::load(const std::string& name) {
  if (!owner(name)) define(name, FrameLoad::From::kContext);
}

void Symbols::store(const std::string& name) {
  stores_.insert(name);
  if (variables_.contains(name)) return;
  const auto outer = resolve_outer(name);
  Variable& variable = define(name, outer ? FrameLoad::From::kOuter : FrameLoad::From::kNothing);
  if (outer) variable.load.outer = *outer;
}

void Symbols::parameter(const std::string& name) {
  stores_.insert(name);
  define(name, FrameLoad::From::kNothing).is_parameter = true;
}

void Symbols::join(const std::vector<Symbols>& branches) {
  std::set<std::string> stored;
  for (const Symbols& branch : branches)
    for (const std::string& name : branch.stores_)
      if (!stores_.contains(name)) stored.insert(name);
  for (const Symbols& branch : branches) {
    for (const auto& [name, variable] : branch.variables_) variables_[name] = variable;
    stores_.insert(branch.stores_.begin(), branch.stores_.end());
  }
  for (const std::string& name : stored) {
    const auto outer = resolve_outer(name);
    Variable& variable = define(name, outer ? FrameLoad::From::kOuter : FrameLoad::From::kContext);
    if (outer) variable.load.outer = *outer;
  }
}

VariableSlot Symbols::resolve(const std::string& name, const FrameLayout* from) const {
  const Symbols* scope = owner(name);
  VariableSlot variable;
  variable.slot = scope->variables_.at(name).slot;
  for (const FrameLayout* function = from; function != scope->function_; function = function->outer)
    ++variable.hops;
  return variable;
}

Scope Symbols::scope() const {
  Scope scope;
  for (const auto& [name, variable] : variables_) {
    scope.own.push_back(variable.slot);
    if (!variable.is_parameter) scope.loads.push_back(variable.load);
  }
  return scope;
}

}  // namespace pc::jinja
