// A parsed template: statements and expressions, as owned trees.
//
// The parser builds it; scope.cc then says where each variable lives, as
// Jinja's own compiler decides it: a slot in the frame of a function (the
// template itself, a macro, the body of a {% call %}, a recursive loop), so many
// functions out. After that it is constant and shared by all renderings.
// Threads: const from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/jinja/values/value.h"

namespace pc::jinja {

struct Expr;
struct Stmt;
using ExprPtr = std::unique_ptr<Expr>;
using StmtPtr = std::unique_ptr<Stmt>;
using Body = std::vector<StmtPtr>;

// A variable: slot `slot` of the frame `hops` functions out.
struct VariableSlot {
  std::uint32_t hops = 0;
  std::uint32_t slot = 0;
};

enum class ExprKind : std::uint8_t {
  kConstant,
  kName,    // name, variable
  kList,    // operands
  kTuple,   // operands
  kDict,    // operands: key, value, key, value ...
  kUnary,   // name: "-", "+", "not"; operand
  kBinary,  // name: "+", "-", "*", "/", "//", "%", "**"; two operands
  kAnd,
  kOr,
  kConcat,           // operands
  kCompare,          // operands, and between them `comparisons`
  kCondition,        // operands: test, then, else (which may be absent)
  kAttribute,        // operand . name
  kItem,             // operands: object, index
  kSlice,            // operands: start, stop, step; each may be null
  kCall,             // operand: callee; arguments
  kFilter,           // operand (null in a filter block) | name; arguments
  kTest,             // operand is name; arguments
  kAttributeTarget,  // namespace `name` . `text` to be set; variable
};

struct CallArguments {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr spread_list;  // *expression
  ExprPtr spread_dict;  // **expression
};

struct Expr {
  ExprKind kind = ExprKind::kConstant;
  std::uint32_t line = 0;
  int depth = 1;  // of the tree below
  std::string name = {}, text = {};
  Value constant = {};
  std::vector<ExprPtr> operands = {};
  std::vector<std::string> comparisons = {};  // "==", "in", "notin", ...
  CallArguments arguments = {};
  VariableSlot variable = {};
};

// What a variable holds when its scope is entered.
struct FrameLoad {
  enum class From : std::uint8_t { kNothing, kContext, kOuter } from = From::kNothing;
  std::uint32_t slot = 0;
  VariableSlot outer = {};  // kOuter: a copy of this variable
  std::string name = {};    // kContext: the template's argument of this name
};

struct Scope {
  std::vector<FrameLoad> loads;
  std::vector<std::uint32_t> own;  // slots that are unassigned again behind the scope
};

enum class StmtKind : std::uint8_t {
  kText,         // text
  kPrint,        // value
  kIf,           // branches
  kFor,          // target in value (if test), body, otherwise
  kSet,          // target = value
  kSetBlock,     // target = the body's text, through the filters of value
  kMacro,        // target, parameters, body
  kCallBlock,    // value: the call; parameters, body: the caller
  kGeneration,   // body: {% generation %}, which transformers adds to Jinja
  kFilterBlock,  // body through value
  kWith,         // parameters = defaults, body
  kBreak,
  kContinue,
};

struct Branch {
  ExprPtr test;  // null: else
  Body body;
};

// A body that is a function of its own.
struct FunctionInfo {
  std::uint32_t n_slots = 0;
  std::vector<std::uint32_t> parameters;  // slots
  bool uses_caller = false, uses_kwargs = false, uses_varargs = false;
  std::uint32_t caller_slot = 0, kwargs_slot = 0, varargs_slot = 0;
};

struct Stmt {
  StmtKind kind = StmtKind::kText;
  std::uint32_t line = 0;
  int depth = 1;
  std::string text = {};
  ExprPtr target = {}, value = {}, test = {};
  ExprPtr test_target = {};  // kFor: target, as the test's own function has it
  std::vector<ExprPtr> parameters = {}, defaults = {};  // defaults: of the last parameters
  std::vector<Branch> branches = {};
  Body body = {}, otherwise = {};
  bool is_recursive = false;
  Scope scope = {}, test_scope = {}, else_scope = {};
  FunctionInfo function = {}, test_function = {};
  std::uint32_t loop_slot = 0;
};

struct Template {
  Body body;
  Scope scope;
  std::uint32_t n_slots = 0;
};

}  // namespace pc::jinja
