// The cursor over a template's tokens, and the parser of expressions that the
// parser of statements builds upon. Internal to parser*.cc.
//
// Threads: thread-compatible.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "runtime/jinja/syntax/ast.h"
#include "runtime/jinja/syntax/lexer.h"
#include "runtime/jinja/values/error.h"

namespace pc::jinja {

class ExpressionParser {
 public:
  explicit ExpressionParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

 protected:
  // ---- the cursor
  const Token& current() const { return tokens_[at_]; }
  const Token& look() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  void next() {
    if (at_ + 1 < tokens_.size()) ++at_;
  }
  bool at(TokenKind kind) const { return current().kind == kind; }
  bool at_operator(std::string_view op) const {
    return at(TokenKind::kOperator) && current().text == op;
  }
  bool at_name(std::string_view name) const {
    return at(TokenKind::kName) && current().text == name;
  }
  bool skip_operator(std::string_view op);
  bool skip_name(std::string_view name);
  Status expect_operator(std::string_view op);
  Status expect(TokenKind kind, std::string_view what);
  Error unexpected(std::string_view wanted = {}) const;
  Error fail(std::uint32_t line, std::string_view what) const {
    return template_error(Code::kCorrupt, line, what);
  }

  // ---- expressions
  Result<ExprPtr> expression(bool with_condition = true);
  // One expression, or several with commas between them.
  Result<ExprPtr> tuple(bool with_condition = true, bool in_parentheses = false);
  Result<ExprPtr> target(bool with_attributes = false);
  Result<ExprPtr> name_target();
  Result<ExprPtr> filters(ExprPtr node, bool starts_inline);

 private:
  friend class StatementParser;
  enum class Simple { kNo, kYes, kWithAttributes };
  Result<ExprPtr> sequence(Simple simple, bool with_condition, bool in_parentheses);
  bool at_tuple_end() const;
  Result<ExprPtr> condition();
  Result<ExprPtr> disjunction();
  Result<ExprPtr> conjunction();
  Result<ExprPtr> negation();
  Result<ExprPtr> comparison();
  Result<ExprPtr> sum();
  Result<ExprPtr> concatenation();
  Result<ExprPtr> product();
  Result<ExprPtr> power();
  Result<ExprPtr> unary(bool with_filters = true);
  Result<ExprPtr> primary(bool with_attributes = false);
  Result<ExprPtr> named(bool with_attributes);
  Result<ExprPtr> strings();
  Result<ExprPtr> list();
  Result<ExprPtr> dict();
  Result<ExprPtr> postfix(ExprPtr node);
  Result<ExprPtr> filter_chain(ExprPtr node);
  Result<ExprPtr> subscript(ExprPtr node);
  Result<ExprPtr> subscribed();
  Result<ExprPtr> call(ExprPtr callee);
  Result<ExprPtr> test(ExprPtr node);
  Result<CallArguments> call_arguments();
  Status one_argument(CallArguments* arguments, std::uint32_t line);
  Result<std::string> dotted_name();
  Status check_assignable(const Expr& target) const;

  ExprPtr make(ExprKind kind, std::uint32_t line) const;
  // Adds an operand; too deep a tree is an error.
  Status adopt(Expr* parent, ExprPtr child) const;
  Status adopt_depth(Expr* parent, const ExprPtr& child) const;
  Status adopt_depth(Expr* parent, const CallArguments& arguments) const;

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int nesting_ = 0;  // of the parser's own calls
};

}  // namespace pc::jinja
