#include "runtime/jinja/interpreter/interpreter.h"

#include <utility>

#include "runtime/jinja/library/functions.h"
#include "runtime/jinja/values/compare.h"
#include "runtime/jinja/values/error.h"
#include "runtime/jinja/values/print.h"

namespace pc::jinja {

Interpreter::Interpreter(const Template& parsed, const Variables& variables, const Limits& limits,
                         StrftimeNow strftime_now)
    : template_(parsed), variables_(variables), runtime_(limits, std::move(strftime_now)) {}

Result<std::string> Interpreter::render() {
  std::string out;
  out_ = &out;
  std::unique_ptr<Frame> frame = new_frame(template_.n_slots, nullptr);
  enter(template_.scope, frame.get());
  auto done = run(template_.body, frame.get());
  keep_if_captured(std::move(frame));
  if (done.ok()) return out;
  const Error& failure = done.error();
  if (failure.message.starts_with(kRaised)) return failure;
  return template_error(failure.code, line_, failure.message);
}

Status Interpreter::emit(std::string_view text) {
  if (text.size() > runtime_.budget.limits().output_bytes - out_->size())
    return error(Code::kUnsupported,
                 "prints more than " + std::to_string(runtime_.budget.limits().output_bytes >> 20) +
                     " MiB, the limit");
  PC_CHECK_OK(runtime_.budget.reserve(text.size()));
  PC_CHECK_OK(runtime_.budget.spend_bytes(text.size()));
  *out_ += text;
  return ok();
}

Result<Value> Interpreter::captured(const std::function<Status()>& write) {
  std::string text;
  std::string* const around = std::exchange(out_, &text);
  const Status done = write();
  out_ = around;
  PC_CHECK_OK(done);
  runtime_.budget.release(text.size());
  return make_string(&runtime_.budget, std::move(text));
}

Result<Interpreter::Flow> Interpreter::run(const Body& body, Frame* frame) {
  for (const StmtPtr& stmt : body) {
    PC_TRY(const Flow flow, run(*stmt, frame));
    if (flow != Flow::kNormal) return flow;
  }
  return Flow::kNormal;
}

Result<Interpreter::Flow> Interpreter::run(const Stmt& stmt, Frame* frame) {
  line_ = stmt.line;
  PC_CHECK_OK(runtime_.budget.spend(1));
  if (depth_ >= runtime_.budget.limits().depth)
    return error(Code::kUnsupported, "calls nested too deep");
  ++depth_;
  Result<Flow> flow = Flow::kNormal;
  const auto plain = [&flow](Status done) {
    if (!done.ok()) flow = std::move(done).error();
  };
  switch (stmt.kind) {
    case StmtKind::kText:
      plain(emit(stmt.text));
      break;
    case StmtKind::kPrint:
      plain(print(stmt, frame));
      break;
    case StmtKind::kIf:
      flow = run_if(stmt, frame);
      break;
    case StmtKind::kFor:
      flow = run_for(stmt, frame);
      break;
    case StmtKind::kSet: {
      auto value = evaluate(*stmt.value, frame);
      plain(value.ok() ? assign(*stmt.target, std::move(value).value(), frame)
                       : Status(std::move(value).error()));
      break;
    }
    case StmtKind::kSetBlock:
      flow = set_block(stmt, frame);
      break;
    case StmtKind::kMacro:
      plain(define_macro(stmt, frame));
      break;
    case StmtKind::kCallBlock:
      plain(call_block(stmt, frame));
      break;
    case StmtKind::kGeneration:
      plain(generation(stmt, frame));
      break;
    case StmtKind::kFilterBlock:
      flow = filter_block(stmt, frame);
      break;
    case StmtKind::kWith:
      flow = with_block(stmt, frame);
      break;
    case StmtKind::kBreak:
      flow = Flow::kBreak;
      break;
    case StmtKind::kContinue:
      flow = Flow::kContinue;
      break;
  }
  --depth_;
  return flow;
}

Result<Interpreter::Flow> Interpreter::run_if(const Stmt& stmt, Frame* frame) {
  for (const Branch& branch : stmt.branches) {
    if (branch.test) {
      PC_TRY(const Value holds, evaluate(*branch.test, frame));
      if (!is_true(holds)) continue;
    }
    return run(branch.body, frame);
  }
  return Flow::kNormal;
}

Status Interpreter::print(const Stmt& stmt, Frame* frame) {
  PC_TRY(const Value value, evaluate(*stmt.value, frame));
  if (value.is(Kind::kString)) return emit(value.text());
  PC_TRY(const std::string text, to_str(&runtime_.budget, value));
  return emit(text);
}

// A break or continue inside leaves the block, and its text is lost: as in Jinja.
Result<Interpreter::Flow> Interpreter::set_block(const Stmt& stmt, Frame* frame) {
  enter(stmt.scope, frame);
  Flow flow = Flow::kNormal;
  PC_TRY(Value text, captured([&]() -> Status {
           PC_TRY(flow, run(stmt.body, frame));
           return ok();
         }));
  if (flow != Flow::kNormal) return flow;
  if (stmt.value) {
    PC_TRY(text, filter_text(*stmt.value, frame, text));
  }
  PC_CHECK_OK(assign(*stmt.target, std::move(text), frame));
  leave(stmt.scope, frame);
  return flow;
}

Result<Interpreter::Flow> Interpreter::filter_block(const Stmt& stmt, Frame* frame) {
  enter(stmt.scope, frame);
  Flow flow = Flow::kNormal;
  PC_TRY(Value text, captured([&]() -> Status {
           PC_TRY(flow, run(stmt.body, frame));
           return ok();
         }));
  if (flow != Flow::kNormal) return flow;
  PC_TRY(text, filter_text(*stmt.value, frame, text));
  leave(stmt.scope, frame);
  PC_TRY(const std::string printed, to_str(&runtime_.budget, text));
  PC_CHECK_OK(emit(printed));
  return flow;
}

Result<Interpreter::Flow> Interpreter::with_block(const Stmt& stmt, Frame* frame) {
  enter(stmt.scope, frame);
  for (std::size_t i = 0; i < stmt.parameters.size(); ++i) {
    PC_TRY(Value value, evaluate(*stmt.defaults[i], frame));
    PC_CHECK_OK(assign(*stmt.parameters[i], std::move(value), frame));
  }
  PC_TRY(const Flow flow, run(stmt.body, frame));
  leave(stmt.scope, frame);
  return flow;
}

Status Interpreter::define_macro(const Stmt& stmt, Frame* frame) {
  PC_TRY(Value macro, make_macro(stmt, frame));
  return assign(*stmt.target, std::move(macro), frame);
}

Status Interpreter::call_block(const Stmt& stmt, Frame* frame) {
  PC_TRY(const Value caller, make_macro(stmt, frame));
  PC_TRY(const Value result, call(*stmt.value, frame, &caller));
  PC_TRY(const std::string text, to_str(&runtime_.budget, result));
  return emit(text);
}

Status Interpreter::generation(const Stmt& stmt, Frame* frame) {
  PC_TRY(const Value text, call_macro(stmt, frame, {}));
  return emit(text.text());
}

Status Interpreter::assign(const Expr& target, Value value, Frame* frame) {
  if (target.kind == ExprKind::kAttributeTarget)
    return assign_attribute(target, std::move(value), frame);
  if (target.kind == ExprKind::kName) {
    *slot(target.variable, frame) = std::move(value);
    return ok();
  }
  PC_TRY(std::vector<Value> parts, elements(&runtime_.budget, value));
  const std::size_t n = target.operands.size();
  if (parts.size() > n)
    return error(Code::kInvalidArgument,
                 "too many values to unpack (expected " + std::to_string(n) + ")");
  if (parts.size() < n)
    return error(Code::kInvalidArgument, "not enough values to unpack (expected " +
                                             std::to_string(n) + ", got " +
                                             std::to_string(parts.size()) + ")");
  for (std::size_t i = 0; i < n; ++i)
    PC_CHECK_OK(assign(*target.operands[i], std::move(parts[i]), frame));
  return ok();
}

Status Interpreter::assign_attribute(const Expr& target, Value value, Frame* frame) {
  const Value object = load(target.variable, frame);
  if (!object.is(Kind::kNamespace))
    return error(Code::kInvalidArgument, "cannot assign attribute on non-namespace object");
  Namespace& attributes = object.name_space();
  PC_CHECK_OK(runtime_.budget.spend(1 + attributes.attributes.size() / 8));
  if (Value* place = attributes.find(target.text)) {
    *place = std::move(value);
    return ok();
  }
  // Names come from the template's text: there are not many.
  attributes.attributes.emplace_back(target.text, std::move(value));
  return ok();
}

}  // namespace pc::jinja
