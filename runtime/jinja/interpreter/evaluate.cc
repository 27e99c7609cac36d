#include "runtime/jinja/interpreter/interpreter.h"
#include "runtime/jinja/library/access.h"
#include "runtime/jinja/library/filters.h"
#include "runtime/jinja/library/left_out.h"
#include "runtime/jinja/library/operators.h"
#include "runtime/jinja/library/tests.h"
#include "runtime/jinja/values/compare.h"
#include "runtime/jinja/values/print.h"

namespace pc::jinja {

Result<Value> Interpreter::evaluate(const Expr& expr, Frame* frame) {
  if (expr.kind == ExprKind::kConstant) return expr.constant;
  line_ = expr.line;
  PC_CHECK_OK(runtime_.budget.spend(1));
  if (expr.kind == ExprKind::kName) return name(expr, frame);
  if (depth_ >= runtime_.budget.limits().depth)
    return error(Code::kUnsupported, "calls nested too deep");
  ++depth_;
  auto value = evaluate_node(expr, frame);
  --depth_;
  return value;
}

Result<Value> Interpreter::evaluate_node(const Expr& expr, Frame* frame) {
  switch (expr.kind) {
    case ExprKind::kList: {
      PC_TRY(std::vector<Value> items, values(expr.operands, frame));
      return make_list(&runtime_.budget, std::move(items));
    }
    case ExprKind::kTuple: {
      PC_TRY(std::vector<Value> items, values(expr.operands, frame));
      return make_tuple(&runtime_.budget, std::move(items));
    }
    case ExprKind::kConcat: {
      PC_TRY(const std::vector<Value> parts, values(expr.operands, frame));
      return concatenate(runtime_, parts);
    }
    case ExprKind::kDict:
      return dict_literal(expr, frame);
    case ExprKind::kUnary:
      return unary_operation(expr, frame);
    case ExprKind::kBinary:
      return binary_operation(expr, frame);
    case ExprKind::kAnd:
    case ExprKind::kOr:
      return junction(expr, frame);
    case ExprKind::kCompare:
      return comparison(expr, frame);
    case ExprKind::kCondition:
      return condition(expr, frame);
    case ExprKind::kAttribute: {
      PC_TRY(const Value object, evaluate(*expr.operands[0], frame));
      return get_attribute(runtime_, object, expr.name);
    }
    case ExprKind::kItem:
      return item(expr, frame);
    case ExprKind::kCall:
      return call(expr, frame, nullptr);
    case ExprKind::kFilter:
      return filter(expr, frame, nullptr);
    case ExprKind::kTest:
      return test(expr, frame);
    default:
      return error(Code::kInvalidArgument, "a slice outside of brackets");
  }
}

Result<Value> Interpreter::name(const Expr& expr, Frame* frame) {
  const Value* value = slot(expr.variable, frame);
  return value->is(Kind::kMissing) ? undefined("'" + expr.name + "' is undefined") : *value;
}

Result<std::vector<Value>> Interpreter::values(const std::vector<ExprPtr>& all, Frame* frame) {
  std::vector<Value> out;
  out.reserve(all.size());
  for (const ExprPtr& expr : all) {
    PC_TRY(Value value, evaluate(*expr, frame));
    out.push_back(std::move(value));
  }
  return out;
}

Result<Value> Interpreter::dict_literal(const Expr& expr, Frame* frame) {
  std::vector<std::pair<Value, Value>> entries;
  for (std::size_t i = 0; i < expr.operands.size(); i += 2) {
    PC_TRY(Value key, evaluate(*expr.operands[i], frame));
    PC_TRY(Value value, evaluate(*expr.operands[i + 1], frame));
    entries.emplace_back(std::move(key), std::move(value));
  }
  return make_dict(&runtime_.budget, std::move(entries));
}

Result<Value> Interpreter::unary_operation(const Expr& expr, Frame* frame) {
  PC_TRY(const Value operand, evaluate(*expr.operands[0], frame));
  if (expr.name == "not") return boolean(!is_true(operand));
  return unary(expr.name, operand);
}

Result<Value> Interpreter::binary_operation(const Expr& expr, Frame* frame) {
  PC_TRY(const Value left, evaluate(*expr.operands[0], frame));
  PC_TRY(const Value right, evaluate(*expr.operands[1], frame));
  return binary(runtime_, expr.name, left, right);
}

// Gives one of the two values, as Python does.
Result<Value> Interpreter::junction(const Expr& expr, Frame* frame) {
  PC_TRY(Value left, evaluate(*expr.operands[0], frame));
  if (is_true(left) == (expr.kind == ExprKind::kOr)) return left;
  return evaluate(*expr.operands[1], frame);
}

// a < b < c: each pair holds, and what follows one that does not is not evaluated.
Result<Value> Interpreter::comparison(const Expr& expr, Frame* frame) {
  PC_TRY(Value left, evaluate(*expr.operands[0], frame));
  for (std::size_t i = 0; i < expr.comparisons.size(); ++i) {
    PC_TRY(Value right, evaluate(*expr.operands[i + 1], frame));
    PC_TRY(const bool holds, compare_by(runtime_, expr.comparisons[i], left, right));
    if (!holds) return boolean(false);
    left = std::move(right);
  }
  return boolean(true);
}

Result<Value> Interpreter::condition(const Expr& expr, Frame* frame) {
  PC_TRY(const Value holds, evaluate(*expr.operands[0], frame));
  if (is_true(holds)) return evaluate(*expr.operands[1], frame);
  if (expr.operands.size() > 2) return evaluate(*expr.operands[2], frame);
  return undefined("the inline if-expression on line " + std::to_string(expr.line) +
                   " evaluated to false and no else section was defined.");
}

Result<Value> Interpreter::item(const Expr& expr, Frame* frame) {
  PC_TRY(const Value object, evaluate(*expr.operands[0], frame));
  const Expr& index = *expr.operands[1];
  if (index.kind != ExprKind::kSlice) {
    PC_TRY(const Value at, evaluate(index, frame));
    return get_item(runtime_, object, at);
  }
  Value bounds[3];
  for (std::size_t i = 0; i < 3; ++i) {
    if (!index.operands[i]) continue;
    PC_TRY(bounds[i], evaluate(*index.operands[i], frame));
  }
  return get_slice(runtime_, object, bounds[0], bounds[1], bounds[2]);
}

Result<Arguments> Interpreter::arguments(const CallArguments& given, Frame* frame) {
  Arguments all;
  PC_TRY(all.positional, values(given.positional, frame));
  if (given.spread_list) {
    PC_TRY(const Value list, evaluate(*given.spread_list, frame));
    PC_TRY(const std::vector<Value> more, elements(&runtime_.budget, list));
    all.positional.insert(all.positional.end(), more.begin(), more.end());
  }
  for (const auto& [key, expr] : given.named) {
    PC_TRY(Value value, evaluate(*expr, frame));
    all.named.emplace_back(key, std::move(value));
  }
  if (!given.spread_dict) return all;
  PC_TRY(const Value dict, evaluate(*given.spread_dict, frame));
  if (!dict.is(Kind::kDict))
    return error(Code::kInvalidArgument,
                 "argument after ** must be a mapping, not " + type_name(dict));
  for (const auto& [key, value] : dict.dict().entries) {
    if (!key.is(Kind::kString)) return error(Code::kInvalidArgument, "keywords must be strings");
    if (all.find(key.text()))
      return error(Code::kInvalidArgument, "two values for the argument '" + key.text() + "'");
    all.named.emplace_back(key.text(), value);
  }
  return all;
}

Result<Value> Interpreter::call(const Expr& expr, Frame* frame, const Value* caller) {
  PC_TRY(const Value callee, evaluate(*expr.operands[0], frame));
  PC_TRY(Arguments given, arguments(expr.arguments, frame));
  if (caller) {
    if (given.find("caller"))
      return error(Code::kInvalidArgument, "two values for the argument 'caller'");
    given.named.emplace_back("caller", *caller);
  }
  line_ = expr.line;
  if (callee.is(Kind::kUndefined)) return error(Code::kInvalidArgument, callee.reason());
  if (!callee.is(Kind::kCallable) && !callee.is(Kind::kLoop))
    return error(Code::kInvalidArgument, "'" + type_name(callee) + "' object is not callable");
  return static_cast<Callable*>(callee.object.get())->call(runtime_, given);
}

Result<Value> Interpreter::filter(const Expr& expr, Frame* frame, const Value* input) {
  Value value;
  if (input && !expr.operands[0]) {
    value = *input;
  } else if (input) {
    PC_TRY(value, filter_text(*expr.operands[0], frame, *input));
  } else {
    PC_TRY(value, evaluate(*expr.operands[0], frame));
  }
  PC_TRY(const Arguments given, arguments(expr.arguments, frame));
  const Function function = find_filter(expr.name);
  if (!function) return unknown_filter(expr.name);
  line_ = expr.line;
  return function(runtime_, value, given);
}

// The filters of a block: those whose innermost operand is the block's text.
Result<Value> Interpreter::filter_text(const Expr& expr, Frame* frame, const Value& text) {
  return filter(expr, frame, &text);
}

Result<Value> Interpreter::test(const Expr& expr, Frame* frame) {
  PC_TRY(const Value value, evaluate(*expr.operands[0], frame));
  PC_TRY(const Arguments given, arguments(expr.arguments, frame));
  const Function function = find_test(expr.name);
  if (!function) return unknown_test(expr.name);
  line_ = expr.line;
  return function(runtime_, value, given);
}

}  // namespace pc::jinja
