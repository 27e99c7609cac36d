// Frames, and what runs in a frame of its own: macros and loops.
#include <utility>

#include "runtime/jinja/interpreter/interpreter.h"
#include "runtime/jinja/interpreter/loop.h"
#include "runtime/jinja/interpreter/macro.h"
#include "runtime/jinja/library/functions.h"
#include "runtime/jinja/library/left_out.h"
#include "runtime/jinja/values/compare.h"
#include "runtime/jinja/values/print.h"

namespace pc::jinja {

Value* Interpreter::slot(VariableSlot variable, Frame* frame) const {
  for (std::uint32_t i = 0; i < variable.hops; ++i) frame = frame->outer;
  return &frame->slots[variable.slot];
}

std::unique_ptr<Frame> Interpreter::new_frame(std::uint32_t n_slots, Frame* outer) {
  auto frame = std::make_unique<Frame>();
  frame->slots.assign(n_slots, missing());
  frame->outer = outer;
  return frame;
}

void Interpreter::capture(Frame* frame) {
  for (; frame && !frame->is_captured; frame = frame->outer) frame->is_captured = true;
}

void Interpreter::keep_if_captured(std::unique_ptr<Frame> frame) {
  if (frame->is_captured) runtime_.arena.push_back(std::move(frame));
}

void Interpreter::enter(const Scope& scope, Frame* frame) {
  for (const FrameLoad& load : scope.loads) {
    Value& place = frame->slots[load.slot];
    if (load.from == FrameLoad::From::kOuter) {
      place = *slot(load.outer, frame);
      continue;
    }
    place = missing();
    if (load.from != FrameLoad::From::kContext) continue;
    if (const auto given = variables_.find(load.name); given != variables_.end())
      place = given->second;
    else if (const Function function = find_function(load.name))
      place = make_function(nullptr, load.name, function).value();
    else if (const Function refusing = find_left_out_function(load.name))
      place = make_function(nullptr, load.name, refusing).value();
  }
}

void Interpreter::leave(const Scope& scope, Frame* frame) {
  for (const std::uint32_t own : scope.own) frame->slots[own] = missing();
}

// ---- macros

Result<Value> Interpreter::make_macro(const Stmt& stmt, Frame* frame) {
  capture(frame);
  auto macro = std::make_unique<Macro>();
  macro->interpreter = this;
  macro->stmt = &stmt;
  macro->outer = frame;
  return runtime_.own(Kind::kCallable, std::move(macro));
}

Result<Value> Macro::call(Runtime&, const Arguments& arguments) {
  return interpreter->call_macro(*stmt, outer, arguments);
}

std::string Macro::name() const {
  return stmt->kind == StmtKind::kMacro ? string_repr(stmt->target->name) : "None";
}

Result<std::string> Macro::repr() {
  return "<Macro " + (stmt->kind == StmtKind::kMacro ? name() : "anonymous") + ">";
}

Result<std::optional<Value>> Macro::attribute(Runtime& runtime, std::string_view wanted) {
  using Found = std::optional<Value>;
  if (wanted == "name")
    return Found(stmt->kind == StmtKind::kMacro ? word(stmt->target->name) : none());
  if (wanted == "catch_kwargs") return Found(boolean(stmt->function.uses_kwargs));
  if (wanted == "catch_varargs") return Found(boolean(stmt->function.uses_varargs));
  if (wanted == "caller") return Found(boolean(stmt->function.uses_caller));
  if (wanted != "arguments") return Found();
  std::vector<Value> names;
  for (const ExprPtr& parameter : stmt->parameters) names.push_back(word(parameter->name));
  PC_TRY(Value all, make_tuple(&runtime.budget, std::move(names)));
  return Found(std::move(all));
}

Result<Value> Interpreter::call_macro(const Stmt& macro, Frame* outer, const Arguments& arguments) {
  PC_CHECK_OK(runtime_.budget.spend(1 + macro.function.n_slots));
  const std::uint32_t line = line_;
  std::unique_ptr<Frame> frame = new_frame(macro.function.n_slots, outer);
  auto text = captured([&]() -> Status {
    enter(macro.scope, frame.get());
    PC_CHECK_OK(bind_parameters(macro, arguments, frame.get()));
    PC_TRY([[maybe_unused]] const Flow flow, run(macro.body, frame.get()));
    return ok();
  });
  if (frame->is_captured) {
    PC_CHECK_OK(runtime_.budget.reserve(frame->slots.size() * sizeof(Value) + sizeof(Frame)));
    keep_if_captured(std::move(frame));
  }
  if (text.ok()) line_ = line;
  return text;
}

Status Interpreter::bind_parameters(const Stmt& macro, const Arguments& arguments, Frame* frame) {
  std::vector<bool> used(arguments.named.size());
  const auto& slots = macro.function.parameters;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    Value& place = frame->slots[slots[i]];
    if (i < arguments.positional.size()) {
      place = arguments.positional[i];
      continue;
    }
    for (std::size_t k = 0; k < arguments.named.size(); ++k) {
      if (arguments.named[k].first != macro.parameters[i]->name) continue;
      place = arguments.named[k].second;
      used[k] = true;
    }
  }
  PC_CHECK_OK(bind_special(macro, arguments, used, frame));
  const std::size_t first_default = macro.parameters.size() - macro.defaults.size();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    Value& place = frame->slots[slots[i]];
    if (!place.is(Kind::kMissing)) continue;
    if (i < first_default) {
      place = undefined("parameter '" + macro.parameters[i]->name + "' was not provided");
      continue;
    }
    PC_TRY(Value value, evaluate(*macro.defaults[i - first_default], frame));
    frame->slots[slots[i]] = std::move(value);
  }
  return ok();
}

// caller, kwargs and varargs; what nobody takes is an error.
Status Interpreter::bind_special(const Stmt& macro, const Arguments& arguments,
                                 const std::vector<bool>& used, Frame* frame) {
  const FunctionInfo& info = macro.function;
  const std::string name =
      macro.kind == StmtKind::kMacro ? "macro " + string_repr(macro.target->name) : "the caller";
  std::vector<std::pair<Value, Value>> rest;
  for (std::size_t i = 0; i < arguments.named.size(); ++i) {
    const auto& [key, value] = arguments.named[i];
    if (used[i]) continue;
    if (info.uses_caller && key == "caller") {
      if (!value.is(Kind::kNone)) frame->slots[info.caller_slot] = value;
      continue;
    }
    if (!info.uses_kwargs)
      return error(Code::kInvalidArgument, name + " takes no keyword argument '" + key + "'");
    PC_TRY(Value text, make_string(&runtime_.budget, key));
    rest.emplace_back(std::move(text), value);
  }
  if (info.uses_caller && frame->slots[info.caller_slot].is(Kind::kMissing))
    frame->slots[info.caller_slot] = undefined("No caller defined");
  if (info.uses_kwargs) {
    PC_TRY(frame->slots[info.kwargs_slot], make_dict(&runtime_.budget, std::move(rest)));
  }
  const std::size_t n = info.parameters.size();
  std::vector<Value> more;
  for (std::size_t i = n; i < arguments.positional.size(); ++i)
    more.push_back(arguments.positional[i]);
  if (info.uses_varargs) {
    PC_TRY(frame->slots[info.varargs_slot], make_tuple(&runtime_.budget, std::move(more)));
  } else if (!more.empty()) {
    return error(Code::kInvalidArgument,
                 name + " takes not more than " + std::to_string(n) + " argument(s)");
  }
  return ok();
}

// ---- loops

Result<bool> Interpreter::passes(const Stmt& stmt, const Value& element, Frame* frame) {
  enter(stmt.test_scope, frame);
  PC_CHECK_OK(assign(*stmt.test_target, element, frame));
  PC_TRY(const Value holds, evaluate(*stmt.test, frame));
  return is_true(holds);
}

Result<Interpreter::Flow> Interpreter::run_for(const Stmt& stmt, Frame* frame) {
  PC_TRY(Value iterable, evaluate(*stmt.value, frame));
  if (!stmt.is_recursive) {
    PC_CHECK_OK(run_loop(stmt, std::move(iterable), frame, 0));
    return Flow::kNormal;
  }
  PC_TRY(const Value text, recurse(stmt, frame, std::move(iterable), 0));
  PC_CHECK_OK(emit(text.text()));
  return Flow::kNormal;
}

Result<Value> Interpreter::recurse(const Stmt& stmt, Frame* outer, Value iterable,
                                   std::int64_t depth0) {
  capture(outer);  // the loop may be kept, and called when its surroundings have returned
  std::unique_ptr<Frame> frame = new_frame(stmt.function.n_slots, outer);
  auto text = captured(
      [&]() -> Status { return run_loop(stmt, std::move(iterable), frame.get(), depth0); });
  if (frame->is_captured) {
    PC_CHECK_OK(runtime_.budget.reserve(frame->slots.size() * sizeof(Value) + sizeof(Frame)));
    keep_if_captured(std::move(frame));
  }
  return text;
}

Status Interpreter::run_loop(const Stmt& stmt, Value iterable, Frame* frame, std::int64_t depth0) {
  PC_TRY(Cursor cursor, Cursor::over(&runtime_.budget, std::move(iterable)));
  // A recursive loop's frame is its own, and the test's lies inside the loop's.
  Frame* const outer = stmt.is_recursive ? frame->outer : frame;
  const std::unique_ptr<Frame> test_frame = new_frame(stmt.test_function.n_slots, frame);
  PC_TRY(const Value handle,
         runtime_.own(Kind::kLoop, std::make_unique<Loop>(this, &stmt, test_frame.get(), outer,
                                                          std::move(cursor), depth0)));
  Loop& loop = static_cast<Loop&>(*handle.object);
  // Jinja takes a loop whose body never came to its end for an empty one.
  bool is_empty = true;
  while (true) {
    PC_TRY(auto element, loop.advance());
    if (!element) break;
    enter(stmt.scope, frame);
    frame->slots[stmt.loop_slot] = handle;
    PC_CHECK_OK(assign(*stmt.target, std::move(*element), frame));
    PC_TRY(const Flow flow, run(stmt.body, frame));
    if (flow == Flow::kBreak) break;
    if (flow == Flow::kNormal) is_empty = false;
  }
  loop.close();
  leave(stmt.scope, frame);
  if (!is_empty || stmt.otherwise.empty()) return ok();
  enter(stmt.else_scope, frame);
  PC_TRY([[maybe_unused]] const Flow flow, run(stmt.otherwise, frame));
  leave(stmt.else_scope, frame);
  return ok();
}

}  // namespace pc::jinja
