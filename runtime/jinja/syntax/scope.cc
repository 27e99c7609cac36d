#include "runtime/jinja/syntax/scope.h"

#include <memory>
#include <string>
#include <vector>

#include "runtime/jinja/library/filters.h"
#include "runtime/jinja/library/left_out.h"
#include "runtime/jinja/library/tests.h"
#include "runtime/jinja/syntax/symbols.h"
#include "runtime/jinja/values/error.h"

namespace pc::jinja {
namespace {

// ---- what a scope reads and assigns, in the order of its text; bodies that are
// scopes of their own are left out

void note(const Expr* expr, Symbols* names);
void note(const Body& body, Symbols* names);

void note(const std::vector<ExprPtr>& all, Symbols* names) {
  for (const ExprPtr& expr : all) note(expr.get(), names);
}

void note(const CallArguments& arguments, Symbols* names) {
  note(arguments.positional, names);
  for (const auto& argument : arguments.named) note(argument.second.get(), names);
  note(arguments.spread_list.get(), names);
  note(arguments.spread_dict.get(), names);
}

void note(const Expr* expr, Symbols* names) {
  if (!expr) return;
  if (expr->kind == ExprKind::kName || expr->kind == ExprKind::kAttributeTarget)
    names->load(expr->name);
  note(expr->operands, names);
  note(expr->arguments, names);
}

void note_target(const Expr& target, Symbols* names, bool is_parameter) {
  if (target.kind == ExprKind::kName)
    is_parameter ? names->parameter(target.name) : names->store(target.name);
  else if (target.kind == ExprKind::kAttributeTarget)
    names->load(target.name);
  for (const ExprPtr& part : target.operands) note_target(*part, names, is_parameter);
}

// Jinja keeps elif apart from if and else: an elif's test is in its branch.
void note_if(const Stmt& stmt, Symbols* names) {
  note(stmt.branches[0].test.get(), names);
  std::vector<Symbols> branches(3, *names);
  note(stmt.branches[0].body, &branches[0]);
  for (std::size_t i = 1; i < stmt.branches.size(); ++i) {
    const Branch& branch = stmt.branches[i];
    if (!branch.test) {
      note(branch.body, &branches[2]);
      continue;
    }
    note(branch.test.get(), &branches[1]);
    std::vector<Symbols> inner(1, branches[1]);
    note(branch.body, &inner[0]);
    branches[1].join(inner);
  }
  names->join(branches);
}

void note(const Stmt& stmt, Symbols* names) {
  switch (stmt.kind) {
    case StmtKind::kIf:
      return note_if(stmt, names);
    case StmtKind::kSet:
      note(stmt.value.get(), names);
      return note_target(*stmt.target, names, false);
    case StmtKind::kSetBlock:
      return note_target(*stmt.target, names, false);
    case StmtKind::kMacro:
      return names->store(stmt.target->name);
    case StmtKind::kWith:
      return note(stmt.defaults, names);
    case StmtKind::kPrint:
    case StmtKind::kFor:
    case StmtKind::kCallBlock:
    case StmtKind::kFilterBlock:
      return note(stmt.value.get(), names);
    default:
      return;
  }
}

void note(const Body& body, Symbols* names) {
  for (const StmtPtr& stmt : body) note(*stmt, names);
}

// ---- does a body read one of the names that a macro is given without asking?

bool reads(const Expr* expr, std::string_view name, bool* assigned);
bool reads(const Body& body, std::string_view name, bool* assigned);

bool reads(const std::vector<ExprPtr>& all, std::string_view name, bool* assigned) {
  bool found = false;
  for (const ExprPtr& expr : all) found |= reads(expr.get(), name, assigned);
  return found;
}

bool reads(const Expr* expr, std::string_view name, bool* assigned) {
  if (!expr) return false;
  bool found = expr->kind == ExprKind::kName && expr->name == name && !*assigned;
  found |= reads(expr->operands, name, assigned);
  found |= reads(expr->arguments.positional, name, assigned);
  for (const auto& argument : expr->arguments.named)
    found |= reads(argument.second.get(), name, assigned);
  found |= reads(expr->arguments.spread_list.get(), name, assigned);
  return found | reads(expr->arguments.spread_dict.get(), name, assigned);
}

void assigns(const Expr* target, std::string_view name, bool* assigned) {
  if (!target) return;
  if (target->kind == ExprKind::kName && target->name == name) *assigned = true;
  for (const ExprPtr& part : target->operands) assigns(part.get(), name, assigned);
}

bool reads(const Stmt& stmt, std::string_view name, bool* assigned) {
  if (stmt.kind != StmtKind::kMacro) assigns(stmt.target.get(), name, assigned);
  for (const ExprPtr& parameter : stmt.parameters) assigns(parameter.get(), name, assigned);
  bool found = reads(stmt.value.get(), name, assigned);
  found |= reads(stmt.test.get(), name, assigned);
  found |= reads(stmt.defaults, name, assigned);
  for (const Branch& branch : stmt.branches) {
    found |= reads(branch.test.get(), name, assigned);
    found |= reads(branch.body, name, assigned);
  }
  found |= reads(stmt.body, name, assigned);
  return found | reads(stmt.otherwise, name, assigned);
}

bool reads(const Body& body, std::string_view name, bool* assigned) {
  bool found = false;
  for (const StmtPtr& stmt : body) found |= reads(*stmt, name, assigned);
  return found;
}

bool reads(const Body& body, std::string_view name) {
  bool assigned = false;
  return reads(body, name, &assigned);
}

// ---- places

ExprPtr copy_target(const Expr& target) {
  auto copy = std::make_unique<Expr>();
  copy->kind = target.kind;
  copy->line = target.line;
  copy->name = target.name;
  for (const ExprPtr& part : target.operands) copy->operands.push_back(copy_target(*part));
  return copy;
}

class Resolver {
 public:
  Status resolve(Template* parsed);

 private:
  Status bind(Body* body, Symbols* names);
  Status bind(Stmt* stmt, Symbols* names);
  Status bind(Expr* expr, Symbols* names);
  Status bind(CallArguments* arguments, Symbols* names);
  Status bind(std::vector<ExprPtr>* all, Symbols* names);
  Status bind_target(Expr* target, Symbols* names);
  Status bind_if(Stmt* stmt, Symbols* names);
  Status bind_for(Stmt* stmt, Symbols* names);
  Status bind_test(Stmt* stmt, Symbols* names);
  Status bind_set_block(Stmt* stmt, Symbols* names);
  Status bind_function(Stmt* stmt, Symbols* names);
  Status bind_filter_block(Stmt* stmt, Symbols* names);
  Status bind_with(Stmt* stmt, Symbols* names);
  Status check_known(const Expr& expr) const;
  Status check_explicit_caller(const Stmt& stmt) const;

  FrameLayout* new_function(FrameLayout* outer) {
    functions_.push_back(std::make_unique<FrameLayout>());
    functions_.back()->outer = outer;
    return functions_.back().get();
  }

  FrameLayout* function_ = nullptr;  // whose code is being bound
  int n_branches_ = 0;               // around this place
  int n_loops_ = 0;
  std::vector<std::unique_ptr<FrameLayout>> functions_;
};

Status Resolver::resolve(Template* parsed) {
  function_ = new_function(nullptr);
  Symbols names(nullptr, function_);
  note(parsed->body, &names);
  parsed->scope = names.scope();
  PC_CHECK_OK(bind(&parsed->body, &names));
  parsed->n_slots = static_cast<std::uint32_t>(function_->slots.size());
  return ok();
}

Status Resolver::bind(Body* body, Symbols* names) {
  for (StmtPtr& stmt : *body) PC_CHECK_OK(bind(stmt.get(), names));
  return ok();
}

Status Resolver::bind(std::vector<ExprPtr>* all, Symbols* names) {
  for (ExprPtr& expr : *all) PC_CHECK_OK(bind(expr.get(), names));
  return ok();
}

Status Resolver::bind(CallArguments* arguments, Symbols* names) {
  PC_CHECK_OK(bind(&arguments->positional, names));
  for (auto& argument : arguments->named) PC_CHECK_OK(bind(argument.second.get(), names));
  PC_CHECK_OK(bind(arguments->spread_list.get(), names));
  return bind(arguments->spread_dict.get(), names);
}

Status Resolver::check_known(const Expr& expr) const {
  if (n_branches_ > 0) return ok();
  const bool is_filter = expr.kind == ExprKind::kFilter;
  if (is_filter ? find_filter(expr.name) != nullptr : find_test(expr.name) != nullptr) return ok();
  const Error unknown = is_filter ? unknown_filter(expr.name) : unknown_test(expr.name);
  return template_error(unknown.code == Code::kUnsupported ? unknown.code : Code::kCorrupt,
                        expr.line, unknown.message);
}

Status Resolver::bind(Expr* expr, Symbols* names) {
  if (!expr) return ok();
  if (expr->kind == ExprKind::kName) expr->variable = names->resolve(expr->name, function_);
  const bool is_condition = expr->kind == ExprKind::kCondition;
  n_branches_ += is_condition;
  if (expr->kind == ExprKind::kFilter || expr->kind == ExprKind::kTest)
    PC_CHECK_OK(check_known(*expr));
  PC_CHECK_OK(bind(&expr->operands, names));
  PC_CHECK_OK(bind(&expr->arguments, names));
  n_branches_ -= is_condition;
  return ok();
}

Status Resolver::bind_target(Expr* target, Symbols* names) {
  if (target->kind == ExprKind::kName && target->name == "loop" && n_loops_ > 0)
    return template_error(Code::kCorrupt, target->line,
                          "Can't assign to special loop variable in for-loop");
  if (target->kind != ExprKind::kTuple) target->variable = names->resolve(target->name, function_);
  for (ExprPtr& part : target->operands) PC_CHECK_OK(bind_target(part.get(), names));
  return ok();
}

Status Resolver::bind(Stmt* stmt, Symbols* names) {
  switch (stmt->kind) {
    case StmtKind::kIf:
      return bind_if(stmt, names);
    case StmtKind::kFor:
      return bind_for(stmt, names);
    case StmtKind::kSet:
      PC_CHECK_OK(bind_target(stmt->target.get(), names));
      return bind(stmt->value.get(), names);
    case StmtKind::kSetBlock:
      return bind_set_block(stmt, names);
    case StmtKind::kMacro:
    case StmtKind::kCallBlock:
    case StmtKind::kGeneration:
      return bind_function(stmt, names);
    case StmtKind::kFilterBlock:
      return bind_filter_block(stmt, names);
    case StmtKind::kWith:
      return bind_with(stmt, names);
    default:
      return bind(stmt->value.get(), names);
  }
}

Status Resolver::bind_if(Stmt* stmt, Symbols* names) {
  ++n_branches_;
  for (Branch& branch : stmt->branches) {
    PC_CHECK_OK(bind(branch.test.get(), names));
    PC_CHECK_OK(bind(&branch.body, names));
  }
  --n_branches_;
  return ok();
}

// Scopes below an if do not inherit that they are in a branch: as Jinja has it.
class Unbranched {
 public:
  explicit Unbranched(int* n) : n_(n), before_(*n) { *n = 0; }
  ~Unbranched() { *n_ = before_; }
  Unbranched(const Unbranched&) = delete;
  Unbranched& operator=(const Unbranched&) = delete;

 private:
  int* n_;
  int before_;
};

// The test looks ahead while the body runs, so it has variables of its own.
Status Resolver::bind_test(Stmt* stmt, Symbols* names) {
  FrameLayout* const around = function_;
  function_ = new_function(around);
  Symbols test(names, function_);
  note_target(*stmt->target, &test, true);
  note(stmt->test.get(), &test);
  stmt->test_target = copy_target(*stmt->target);
  PC_CHECK_OK(bind_target(stmt->test_target.get(), &test));
  PC_CHECK_OK(bind(stmt->test.get(), &test));
  stmt->test_scope = test.scope();
  stmt->test_function.n_slots = static_cast<std::uint32_t>(function_->slots.size());
  function_ = around;
  return ok();
}

Status Resolver::bind_for(Stmt* stmt, Symbols* names) {
  FrameLayout* const around = function_;
  PC_CHECK_OK(bind(stmt->value.get(), names));  // the iterable belongs to the scope around it
  const Unbranched unbranched(&n_branches_);
  if (stmt->is_recursive) function_ = new_function(around);
  ++n_loops_;
  Symbols body(names, function_), otherwise(names, function_);
  body.parameter("loop");
  note_target(*stmt->target, &body, true);
  note(stmt->body, &body);
  note(stmt->otherwise, &otherwise);
  PC_CHECK_OK(bind_target(stmt->target.get(), &body));
  if (stmt->test) PC_CHECK_OK(bind_test(stmt, names));
  PC_CHECK_OK(bind(&stmt->body, &body));
  PC_CHECK_OK(bind(&stmt->otherwise, &otherwise));
  --n_loops_;
  stmt->scope = body.scope();
  stmt->else_scope = otherwise.scope();
  stmt->loop_slot = body.resolve("loop", function_).slot;
  stmt->function.n_slots = static_cast<std::uint32_t>(function_->slots.size());
  function_ = around;
  return ok();
}

Status Resolver::bind_set_block(Stmt* stmt, Symbols* names) {
  PC_CHECK_OK(bind_target(stmt->target.get(), names));
  const Unbranched unbranched(&n_branches_);
  Symbols inner(names, function_);
  note(stmt->body, &inner);
  note(stmt->value.get(), &inner);
  PC_CHECK_OK(bind(&stmt->body, &inner));
  PC_CHECK_OK(bind(stmt->value.get(), &inner));
  stmt->scope = inner.scope();
  return ok();
}

// A parameter called "caller" has to have a default where the body uses it.
Status Resolver::check_explicit_caller(const Stmt& stmt) const {
  const std::size_t n_required = stmt.parameters.size() - stmt.defaults.size();
  for (std::size_t i = 0; i < n_required; ++i)
    if (stmt.parameters[i]->name == "caller" && reads(stmt.body, "caller"))
      return template_error(
          Code::kCorrupt, stmt.line,
          "the special \"caller\" argument must be omitted or be given a default");
  return ok();
}

Status Resolver::bind_function(Stmt* stmt, Symbols* names) {
  if (stmt->kind == StmtKind::kMacro) PC_CHECK_OK(bind_target(stmt->target.get(), names));
  PC_CHECK_OK(bind(stmt->value.get(), names));  // a call block's call
  PC_CHECK_OK(check_explicit_caller(*stmt));
  const Unbranched unbranched(&n_branches_);
  FrameLayout* const around = function_;
  function_ = new_function(around);
  Symbols inner(names, function_);
  const auto has_parameter = [stmt](std::string_view name) {
    for (const ExprPtr& parameter : stmt->parameters)
      if (parameter->name == name) return true;
    return false;
  };
  FunctionInfo& info = stmt->function;
  for (const ExprPtr& parameter : stmt->parameters) inner.parameter(parameter->name);
  const auto implied = [&](const char* name, bool* uses) {
    *uses = !has_parameter(name) && reads(stmt->body, name);
    if (*uses) inner.parameter(name);
  };
  implied("caller", &info.uses_caller);
  implied("kwargs", &info.uses_kwargs);
  implied("varargs", &info.uses_varargs);
  note(stmt->defaults, &inner);
  note(stmt->body, &inner);
  for (const ExprPtr& parameter : stmt->parameters)
    info.parameters.push_back(inner.resolve(parameter->name, function_).slot);
  if (info.uses_caller) info.caller_slot = inner.resolve("caller", function_).slot;
  if (info.uses_kwargs) info.kwargs_slot = inner.resolve("kwargs", function_).slot;
  if (info.uses_varargs) info.varargs_slot = inner.resolve("varargs", function_).slot;
  PC_CHECK_OK(bind(&stmt->defaults, &inner));
  PC_CHECK_OK(bind(&stmt->body, &inner));
  stmt->scope = inner.scope();
  info.n_slots = static_cast<std::uint32_t>(function_->slots.size());
  function_ = around;
  return ok();
}

Status Resolver::bind_filter_block(Stmt* stmt, Symbols* names) {
  const Unbranched unbranched(&n_branches_);
  Symbols inner(names, function_);
  note(stmt->body, &inner);
  note(stmt->value.get(), &inner);
  PC_CHECK_OK(bind(&stmt->body, &inner));
  PC_CHECK_OK(bind(stmt->value.get(), &inner));
  stmt->scope = inner.scope();
  return ok();
}

Status Resolver::bind_with(Stmt* stmt, Symbols* names) {
  PC_CHECK_OK(bind(&stmt->defaults, names));
  const Unbranched unbranched(&n_branches_);
  Symbols inner(names, function_);
  for (const ExprPtr& name : stmt->parameters) note_target(*name, &inner, true);
  note(stmt->body, &inner);
  for (ExprPtr& name : stmt->parameters) {
    for (ExprPtr& part : name->operands) PC_CHECK_OK(bind_target(part.get(), &inner));
    if (name->kind == ExprKind::kName) name->variable = inner.resolve(name->name, function_);
  }
  PC_CHECK_OK(bind(&stmt->body, &inner));
  stmt->scope = inner.scope();
  return ok();
}

}  // namespace

Status resolve_names(Template* parsed) {
  return Resolver().resolve(parsed);
}

}  // namespace pc::jinja
