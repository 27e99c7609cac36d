// Renders a parsed template: evaluates its statements over frames of variables.
//
// One Interpreter is one rendering. It shares the template with other renderings
// and owns everything else; recursion is counted against the budget's depth.
// Threads: one.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/jinja/syntax/ast.h"
#include "runtime/jinja/values/callable.h"
#include "runtime/jinja/values/iterate.h"

namespace pc::jinja {

using Variables = std::map<std::string, Value, std::less<>>;

// The variables of one call of a function. Lives in the arena once a macro that
// was made in it could outlive the call.
struct Frame final : Object {
  std::vector<Value> slots;
  Frame* outer = nullptr;
  bool is_captured = false;
};

class Loop;

class Interpreter {
 public:
  // The template and the variables outlive the interpreter.
  Interpreter(const Template& parsed, const Variables& variables, const Limits& limits,
              StrftimeNow strftime_now);

  // Errors: "line 7: ..." as of values/error.h, or the template's own (kRaised).
  Result<std::string> render();

 private:
  friend struct Macro;
  friend class Loop;
  enum class Flow { kNormal, kBreak, kContinue };

  // interpreter.cc: statements
  Result<Flow> run(const Body& body, Frame* frame);
  Result<Flow> run(const Stmt& stmt, Frame* frame);
  Result<Flow> run_if(const Stmt& stmt, Frame* frame);
  Status print(const Stmt& stmt, Frame* frame);
  Result<Flow> set_block(const Stmt& stmt, Frame* frame);
  Result<Flow> filter_block(const Stmt& stmt, Frame* frame);
  Result<Flow> with_block(const Stmt& stmt, Frame* frame);
  Status call_block(const Stmt& stmt, Frame* frame);
  Status generation(const Stmt& stmt, Frame* frame);
  Status define_macro(const Stmt& stmt, Frame* frame);
  Result<Value> make_macro(const Stmt& stmt, Frame* frame);
  Status assign(const Expr& target, Value value, Frame* frame);
  Status assign_attribute(const Expr& target, Value value, Frame* frame);
  Status emit(std::string_view text);
  // The text of what `write` prints, as a value.
  Result<Value> captured(const std::function<Status()>& write);

  // calls.cc: frames, macros, loops
  void enter(const Scope& scope, Frame* frame);
  void leave(const Scope& scope, Frame* frame);
  Value load(VariableSlot variable, Frame* frame) const { return *slot(variable, frame); }
  Value* slot(VariableSlot variable, Frame* frame) const;
  std::unique_ptr<Frame> new_frame(std::uint32_t n_slots, Frame* outer);
  void keep_if_captured(std::unique_ptr<Frame> frame);
  void capture(Frame* frame);
  Result<Value> call_macro(const Stmt& macro, Frame* outer, const Arguments& arguments);
  Status bind_parameters(const Stmt& macro, const Arguments& arguments, Frame* frame);
  Status bind_special(const Stmt& macro, const Arguments& arguments, const std::vector<bool>& used,
                      Frame* frame);
  Result<Flow> run_for(const Stmt& stmt, Frame* frame);
  Status run_loop(const Stmt& stmt, Value iterable, Frame* frame, std::int64_t depth0);
  Result<Value> recurse(const Stmt& stmt, Frame* outer, Value iterable, std::int64_t depth0);
  Result<bool> passes(const Stmt& stmt, const Value& element, Frame* frame);

  // evaluate.cc: expressions
  Result<Value> evaluate(const Expr& expr, Frame* frame);
  Result<Value> evaluate_node(const Expr& expr, Frame* frame);
  Result<Value> name(const Expr& expr, Frame* frame);
  Result<Value> binary_operation(const Expr& expr, Frame* frame);
  Result<Value> unary_operation(const Expr& expr, Frame* frame);
  Result<Value> junction(const Expr& expr, Frame* frame);
  Result<Value> comparison(const Expr& expr, Frame* frame);
  Result<Value> condition(const Expr& expr, Frame* frame);
  Result<Value> item(const Expr& expr, Frame* frame);
  Result<Value> dict_literal(const Expr& expr, Frame* frame);
  Result<Value> call(const Expr& expr, Frame* frame, const Value* caller);
  Result<Value> filter(const Expr& expr, Frame* frame, const Value* input);
  Result<Value> filter_text(const Expr& expr, Frame* frame, const Value& text);
  Result<Value> test(const Expr& expr, Frame* frame);
  Result<std::vector<Value>> values(const std::vector<ExprPtr>& all, Frame* frame);
  Result<Arguments> arguments(const CallArguments& given, Frame* frame);

  const Template& template_;
  const Variables& variables_;
  Runtime runtime_;
  std::string* out_ = nullptr;
  std::uint32_t line_ = 1;  // of what is being evaluated, for messages
  int depth_ = 0;
};

}  // namespace pc::jinja
