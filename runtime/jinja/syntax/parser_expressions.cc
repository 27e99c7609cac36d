#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "runtime/jinja/syntax/parser.h"
#include "runtime/jinja/syntax/parser_base.h"

namespace pc::jinja {
namespace {

// An opening bracket costs the parser about fifteen calls of its own.
constexpr int kMaxNesting = 100;

class Nested {
 public:
  explicit Nested(int* depth) : depth_(depth) { ++*depth_; }
  ~Nested() { --*depth_; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 private:
  int* depth_;
};

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kEnd:
      return "end of template";
    case TokenKind::kData:
      return "template data / text";
    case TokenKind::kBlockBegin:
      return "begin of statement block";
    case TokenKind::kBlockEnd:
      return "end of statement block";
    case TokenKind::kVariableBegin:
      return "begin of print statement";
    case TokenKind::kVariableEnd:
      return "end of print statement";
    default:
      return one_line(token.text);
  }
}

}  // namespace

bool ExpressionParser::skip_operator(std::string_view op) {
  if (!at_operator(op)) return false;
  next();
  return true;
}

bool ExpressionParser::skip_name(std::string_view name) {
  if (!at_name(name)) return false;
  next();
  return true;
}

Error ExpressionParser::unexpected(std::string_view wanted) const {
  std::string what = "unexpected '" + describe(current()) + "'";
  if (!wanted.empty()) what += ", expected '" + std::string(wanted) + "'";
  return fail(current().line, what);
}

Status ExpressionParser::expect_operator(std::string_view op) {
  return skip_operator(op) ? ok() : Status(unexpected(op));
}

Status ExpressionParser::expect(TokenKind kind, std::string_view what) {
  if (!at(kind)) return unexpected(what);
  next();
  return ok();
}

ExprPtr ExpressionParser::make(ExprKind kind, std::uint32_t line) const {
  auto node = std::make_unique<Expr>();
  node->kind = kind;
  node->line = line;
  return node;
}

Status ExpressionParser::adopt_depth(Expr* parent, const ExprPtr& child) const {
  if (child) parent->depth = std::max(parent->depth, child->depth + 1);
  if (parent->depth <= kMaxTreeDepth) return ok();
  return template_error(Code::kUnsupported, parent->line, "an expression of too many parts");
}

Status ExpressionParser::adopt(Expr* parent, ExprPtr child) const {
  PC_CHECK_OK(adopt_depth(parent, child));
  parent->operands.push_back(std::move(child));
  return ok();
}

Status ExpressionParser::adopt_depth(Expr* parent, const CallArguments& arguments) const {
  for (const ExprPtr& argument : arguments.positional) PC_CHECK_OK(adopt_depth(parent, argument));
  for (const auto& argument : arguments.named) PC_CHECK_OK(adopt_depth(parent, argument.second));
  PC_CHECK_OK(adopt_depth(parent, arguments.spread_list));
  return adopt_depth(parent, arguments.spread_dict);
}

Result<ExprPtr> ExpressionParser::expression(bool with_condition) {
  const Nested nested(&nesting_);
  if (nesting_ > kMaxNesting)
    return template_error(Code::kUnsupported, current().line, "brackets nested too deep");
  return with_condition ? condition() : disjunction();
}

Result<ExprPtr> ExpressionParser::condition() {
  std::uint32_t line = current().line;
  PC_TRY(ExprPtr node, disjunction());
  while (skip_name("if")) {
    ExprPtr whole = make(ExprKind::kCondition, line);
    PC_TRY(ExprPtr test, disjunction());
    PC_CHECK_OK(adopt(whole.get(), std::move(test)));
    PC_CHECK_OK(adopt(whole.get(), std::move(node)));
    if (skip_name("else")) {
      PC_TRY(ExprPtr otherwise, expression());
      PC_CHECK_OK(adopt(whole.get(), std::move(otherwise)));
    }
    node = std::move(whole);
    line = current().line;
  }
  return node;
}

Result<ExprPtr> ExpressionParser::disjunction() {
  std::uint32_t line = current().line;
  PC_TRY(ExprPtr node, conjunction());
  while (skip_name("or")) {
    ExprPtr both = make(ExprKind::kOr, line);
    PC_CHECK_OK(adopt(both.get(), std::move(node)));
    PC_TRY(ExprPtr right, conjunction());
    PC_CHECK_OK(adopt(both.get(), std::move(right)));
    node = std::move(both);
    line = current().line;
  }
  return node;
}

Result<ExprPtr> ExpressionParser::conjunction() {
  std::uint32_t line = current().line;
  PC_TRY(ExprPtr node, negation());
  while (skip_name("and")) {
    ExprPtr both = make(ExprKind::kAnd, line);
    PC_CHECK_OK(adopt(both.get(), std::move(node)));
    PC_TRY(ExprPtr right, negation());
    PC_CHECK_OK(adopt(both.get(), std::move(right)));
    node = std::move(both);
    line = current().line;
  }
  return node;
}

Result<ExprPtr> ExpressionParser::negation() {
  if (!at_name("not")) return comparison();
  const Nested nested(&nesting_);
  if (nesting_ > kMaxNesting)
    return template_error(Code::kUnsupported, current().line, "too many 'not' in a row");
  ExprPtr node = make(ExprKind::kUnary, current().line);
  node->name = "not";
  next();
  PC_TRY(ExprPtr operand, negation());
  PC_CHECK_OK(adopt(node.get(), std::move(operand)));
  return node;
}

Result<ExprPtr> ExpressionParser::comparison() {
  constexpr std::array<std::string_view, 6> kComparisons = {"==", "!=", "<", "<=", ">", ">="};
  const std::uint32_t line = current().line;
  PC_TRY(ExprPtr first, sum());
  ExprPtr chain;
  while (true) {
    std::string comparison;
    if (at(TokenKind::kOperator) &&
        std::find(kComparisons.begin(), kComparisons.end(), current().text) != kComparisons.end()) {
      comparison = current().text;
    } else if (at_name("in")) {
      comparison = "in";
    } else if (at_name("not") && look().kind == TokenKind::kName && look().text == "in") {
      comparison = "notin";
      next();
    } else {
      break;
    }
    next();
    if (!chain) {
      chain = make(ExprKind::kCompare, line);
      PC_CHECK_OK(adopt(chain.get(), std::move(first)));
    }
    PC_TRY(ExprPtr right, sum());
    PC_CHECK_OK(adopt(chain.get(), std::move(right)));
    chain->comparisons.push_back(std::move(comparison));
  }
  return chain ? std::move(chain) : std::move(first);
}

Result<ExprPtr> ExpressionParser::sum() {
  PC_TRY(ExprPtr node, concatenation());
  while (at_operator("+") || at_operator("-")) {
    ExprPtr both = make(ExprKind::kBinary, current().line);
    both->name = current().text;
    next();
    PC_CHECK_OK(adopt(both.get(), std::move(node)));
    PC_TRY(ExprPtr right, concatenation());
    PC_CHECK_OK(adopt(both.get(), std::move(right)));
    node = std::move(both);
  }
  return node;
}

Result<ExprPtr> ExpressionParser::concatenation() {
  const std::uint32_t line = current().line;
  PC_TRY(ExprPtr first, product());
  if (!at_operator("~")) return first;
  ExprPtr all = make(ExprKind::kConcat, line);
  PC_CHECK_OK(adopt(all.get(), std::move(first)));
  while (skip_operator("~")) {
    PC_TRY(ExprPtr part, product());
    PC_CHECK_OK(adopt(all.get(), std::move(part)));
  }
  return all;
}

Result<ExprPtr> ExpressionParser::product() {
  PC_TRY(ExprPtr node, power());
  while (at_operator("*") || at_operator("/") || at_operator("//") || at_operator("%")) {
    ExprPtr both = make(ExprKind::kBinary, current().line);
    both->name = current().text;
    next();
    PC_CHECK_OK(adopt(both.get(), std::move(node)));
    PC_TRY(ExprPtr right, power());
    PC_CHECK_OK(adopt(both.get(), std::move(right)));
    node = std::move(both);
  }
  return node;
}

Result<ExprPtr> ExpressionParser::power() {
  PC_TRY(ExprPtr node, unary());
  while (at_operator("**")) {
    ExprPtr both = make(ExprKind::kBinary, current().line);
    both->name = "**";
    next();
    PC_CHECK_OK(adopt(both.get(), std::move(node)));
    PC_TRY(ExprPtr right, unary());
    PC_CHECK_OK(adopt(both.get(), std::move(right)));
    node = std::move(both);
  }
  return node;
}

Result<ExprPtr> ExpressionParser::unary(bool with_filters) {
  ExprPtr node;
  if (at_operator("-") || at_operator("+")) {
    const Nested nested(&nesting_);
    if (nesting_ > kMaxNesting)
      return template_error(Code::kUnsupported, current().line, "too many signs in a row");
    node = make(ExprKind::kUnary, current().line);
    node->name = current().text;
    next();
    PC_TRY(ExprPtr operand, unary(false));
    PC_CHECK_OK(adopt(node.get(), std::move(operand)));
  } else {
    PC_TRY(node, primary());
  }
  PC_TRY(node, postfix(std::move(node)));
  if (!with_filters) return node;
  return filter_chain(std::move(node));
}

Result<ExprPtr> ExpressionParser::named(bool with_attributes) {
  const Token& token = current();
  const std::string& name = token.text;
  ExprPtr node = make(ExprKind::kConstant, token.line);
  if (name == "true" || name == "True" || name == "false" || name == "False") {
    node->constant = boolean(name == "true" || name == "True");
  } else if (name == "none" || name == "None") {
    node->constant = none();
  } else {
    node->kind = ExprKind::kName;
    node->name = name;
  }
  const bool is_name = node->kind == ExprKind::kName;
  next();
  if (with_attributes && is_name && skip_operator(".")) {
    node->kind = ExprKind::kAttributeTarget;
    node->text = current().text;
    PC_CHECK_OK(expect(TokenKind::kName, "name"));
  }
  return node;
}

Result<ExprPtr> ExpressionParser::strings() {
  ExprPtr node = make(ExprKind::kConstant, current().line);
  std::string text;
  for (; at(TokenKind::kString); next()) text += current().text;
  PC_TRY(node->constant, make_string(nullptr, std::move(text)));
  return node;
}

Result<ExprPtr> ExpressionParser::primary(bool with_attributes) {
  const Token& token = current();
  if (token.kind == TokenKind::kName) return named(with_attributes);
  if (token.kind == TokenKind::kString) return strings();
  if (token.kind == TokenKind::kInteger || token.kind == TokenKind::kFloat) {
    ExprPtr node = make(ExprKind::kConstant, token.line);
    node->constant = token.kind == TokenKind::kInteger ? integer(token.integer) : real(token.real);
    next();
    return node;
  }
  if (skip_operator("(")) {
    PC_TRY(ExprPtr node, tuple(true, true));
    PC_CHECK_OK(expect_operator(")"));
    return node;
  }
  if (at_operator("[")) return list();
  if (at_operator("{")) return dict();
  return unexpected();
}

bool ExpressionParser::at_tuple_end() const {
  return at(TokenKind::kVariableEnd) || at(TokenKind::kBlockEnd) || at_operator(")");
}

Result<ExprPtr> ExpressionParser::sequence(Simple simple, bool with_condition,
                                           bool in_parentheses) {
  ExprPtr all = make(ExprKind::kTuple, current().line);
  bool is_tuple = false;
  while (true) {
    if (!all->operands.empty()) PC_CHECK_OK(expect_operator(","));
    if (at_tuple_end()) break;
    PC_TRY(ExprPtr part, simple == Simple::kNo ? expression(with_condition)
                                               : primary(simple == Simple::kWithAttributes));
    PC_CHECK_OK(adopt(all.get(), std::move(part)));
    if (!at_operator(",")) break;
    is_tuple = true;
  }
  if (is_tuple) return all;
  if (!all->operands.empty()) return std::move(all->operands[0]);
  if (!in_parentheses)
    return fail(current().line, "Expected an expression, got '" + describe(current()) + "'");
  return all;
}

Result<ExprPtr> ExpressionParser::tuple(bool with_condition, bool in_parentheses) {
  return sequence(Simple::kNo, with_condition, in_parentheses);
}

Status ExpressionParser::check_assignable(const Expr& node) const {
  if (node.kind == ExprKind::kName || node.kind == ExprKind::kAttributeTarget) return ok();
  if (node.kind != ExprKind::kTuple) return fail(node.line, "can't assign to what is no variable");
  for (const ExprPtr& part : node.operands) PC_CHECK_OK(check_assignable(*part));
  return ok();
}

Result<ExprPtr> ExpressionParser::target(bool with_attributes) {
  PC_TRY(ExprPtr node,
         sequence(with_attributes ? Simple::kWithAttributes : Simple::kYes, true, false));
  PC_CHECK_OK(check_assignable(*node));
  return node;
}

Result<ExprPtr> ExpressionParser::name_target() {
  ExprPtr node = make(ExprKind::kName, current().line);
  node->name = current().text;
  PC_CHECK_OK(expect(TokenKind::kName, "name"));
  for (const char* reserved : {"true", "false", "none", "True", "False", "None"})
    if (node->name == reserved) return fail(node->line, "can't assign to '" + node->name + "'");
  return node;
}

Result<ExprPtr> ExpressionParser::list() {
  ExprPtr node = make(ExprKind::kList, current().line);
  next();
  while (!at_operator("]")) {
    if (!node->operands.empty()) PC_CHECK_OK(expect_operator(","));
    if (at_operator("]")) break;
    PC_TRY(ExprPtr part, expression());
    PC_CHECK_OK(adopt(node.get(), std::move(part)));
  }
  next();
  return node;
}

Result<ExprPtr> ExpressionParser::dict() {
  ExprPtr node = make(ExprKind::kDict, current().line);
  next();
  while (!at_operator("}")) {
    if (!node->operands.empty()) PC_CHECK_OK(expect_operator(","));
    if (at_operator("}")) break;
    PC_TRY(ExprPtr key, expression());
    PC_CHECK_OK(adopt(node.get(), std::move(key)));
    PC_CHECK_OK(expect_operator(":"));
    PC_TRY(ExprPtr value, expression());
    PC_CHECK_OK(adopt(node.get(), std::move(value)));
  }
  next();
  return node;
}

}  // namespace pc::jinja
