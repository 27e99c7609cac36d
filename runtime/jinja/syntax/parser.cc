#include "runtime/jinja/syntax/parser.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "base/utf8.h"
#include "runtime/jinja/syntax/parser_base.h"
#include "runtime/jinja/syntax/scope.h"

namespace pc::jinja {
namespace {

constexpr int kMaxStatementNesting = 50;

}  // namespace

class StatementParser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Result<Body> run() {
    PC_TRY(Body body, statements({}));
    return body;
  }

 private:
  using Names = std::initializer_list<std::string_view>;

  // Up to, and without, one of the tags `ends` (whose begin is taken).
  Result<Body> statements(Names ends);
  // From behind a tag's own words: its end, and the body.
  Result<Body> body(Names ends);
  Result<StmtPtr> statement();
  Result<StmtPtr> print();
  Result<StmtPtr> if_statement();
  Result<StmtPtr> for_statement();
  Result<StmtPtr> set_statement();
  Result<StmtPtr> macro();
  Result<StmtPtr> call_block();
  Result<StmtPtr> filter_block();
  Result<StmtPtr> with_statement();
  Result<StmtPtr> generation();
  Result<StmtPtr> print_statement();
  Result<StmtPtr> jump(StmtKind kind);
  Status signature(Stmt* node);
  Status add_to_body(Body* body, StmtPtr node) const;

  StmtPtr make_statement(StmtKind kind) const {
    auto node = std::make_unique<Stmt>();
    node->kind = kind;
    node->line = current().line;
    return node;
  }

  int depth_ = 0;
  int n_loops_ = 0;  // around this place, within the same function
};

Result<Body> StatementParser::statements(Names ends) {
  Body body;
  while (!at(TokenKind::kEnd)) {
    if (at(TokenKind::kData)) {
      StmtPtr text = make_statement(StmtKind::kText);
      text->text = current().text;
      next();
      body.push_back(std::move(text));
    } else if (at(TokenKind::kVariableBegin)) {
      PC_TRY(StmtPtr node, print());
      body.push_back(std::move(node));
    } else {
      PC_CHECK_OK(expect(TokenKind::kBlockBegin, "begin of statement block"));
      for (const std::string_view end : ends)
        if (at_name(end)) return body;
      PC_TRY(StmtPtr node, statement());
      PC_CHECK_OK(expect(TokenKind::kBlockEnd, "end of statement block"));
      body.push_back(std::move(node));
    }
  }
  if (ends.size() == 0) return body;
  std::string wanted;
  for (const std::string_view end : ends)
    wanted += (wanted.empty() ? "'" : " or '") + std::string(end) + "'";
  return fail(current().line, "Unexpected end of template, which is to have " + wanted);
}

Result<Body> StatementParser::body(Names ends) {
  skip_operator(":");
  PC_CHECK_OK(expect(TokenKind::kBlockEnd, "end of statement block"));
  return statements(ends);
}

Result<StmtPtr> StatementParser::print() {
  StmtPtr node = make_statement(StmtKind::kPrint);
  next();
  PC_TRY(node->value, tuple());
  PC_CHECK_OK(expect(TokenKind::kVariableEnd, "end of print statement"));
  return node;
}

Result<StmtPtr> StatementParser::statement() {
  if (!at(TokenKind::kName)) return fail(current().line, "tag name expected");
  if (++depth_ > kMaxStatementNesting)
    return template_error(Code::kUnsupported, current().line, "statements nested too deep");
  using Parse = Result<StmtPtr> (StatementParser::*)();
  constexpr std::array<std::pair<std::string_view, Parse>, 9> kStatements = {{
      {"if", &StatementParser::if_statement},
      {"for", &StatementParser::for_statement},
      {"set", &StatementParser::set_statement},
      {"macro", &StatementParser::macro},
      {"call", &StatementParser::call_block},
      {"filter", &StatementParser::filter_block},
      {"with", &StatementParser::with_statement},
      {"generation", &StatementParser::generation},
      {"print", &StatementParser::print_statement},
  }};
  const std::string name = current().text;
  for (const auto& [tag, parse] : kStatements) {
    if (name != tag) continue;
    PC_TRY(StmtPtr node, (this->*parse)());
    --depth_;
    return node;
  }
  --depth_;
  if (name == "break") return jump(StmtKind::kBreak);
  if (name == "continue") return jump(StmtKind::kContinue);
  for (const char* other : {"block", "extends", "include", "import", "from", "autoescape"})
    if (name == other)
      return template_error(Code::kUnsupported, current().line,
                            "'" + name + "' has no place in a chat template");
  return fail(current().line, "Encountered unknown tag '" + one_line(name) + "'.");
}

Result<StmtPtr> StatementParser::jump(StmtKind kind) {
  StmtPtr node = make_statement(kind);
  if (n_loops_ == 0) return fail(node->line, "'" + current().text + "' outside a loop");
  next();
  return node;
}

Result<StmtPtr> StatementParser::if_statement() {
  StmtPtr node = make_statement(StmtKind::kIf);
  do {
    next();
    Branch branch;
    PC_TRY(branch.test, tuple(false));
    PC_TRY(branch.body, body({"elif", "else", "endif"}));
    node->branches.push_back(std::move(branch));
  } while (at_name("elif"));
  if (skip_name("else")) {
    Branch branch;
    PC_TRY(branch.body, body({"endif"}));
    node->branches.push_back(std::move(branch));
  }
  next();
  return node;
}

Result<StmtPtr> StatementParser::for_statement() {
  StmtPtr node = make_statement(StmtKind::kFor);
  next();
  PC_TRY(node->target, target());
  if (!skip_name("in")) return unexpected("in");
  PC_TRY(node->value, tuple(false));
  if (skip_name("if")) {
    PC_TRY(node->test, expression());
  }
  node->is_recursive = skip_name("recursive");
  ++n_loops_;
  PC_TRY(node->body, body({"endfor", "else"}));
  --n_loops_;
  const bool has_else = at_name("else");
  next();
  if (has_else) {
    PC_TRY(node->otherwise, body({"endfor"}));
    next();
  }
  return node;
}

Result<StmtPtr> StatementParser::set_statement() {
  StmtPtr node = make_statement(StmtKind::kSet);
  next();
  PC_TRY(node->target, target(true));
  if (skip_operator("=")) {
    PC_TRY(node->value, tuple());
    return node;
  }
  node->kind = StmtKind::kSetBlock;
  PC_TRY(node->value, filters(nullptr, false));
  PC_TRY(node->body, body({"endset"}));
  next();
  return node;
}

Status StatementParser::signature(Stmt* node) {
  PC_CHECK_OK(expect_operator("("));
  while (!at_operator(")")) {
    if (!node->parameters.empty()) PC_CHECK_OK(expect_operator(","));
    PC_TRY(ExprPtr parameter, name_target());
    if (skip_operator("=")) {
      PC_TRY(ExprPtr value, expression());
      node->defaults.push_back(std::move(value));
    } else if (!node->defaults.empty()) {
      return fail(parameter->line, "non-default argument follows default argument");
    }
    for (const ExprPtr& other : node->parameters)
      if (other->name == parameter->name)
        return fail(parameter->line, "two parameters are called '" + other->name + "'");
    node->parameters.push_back(std::move(parameter));
  }
  next();
  return ok();
}

Result<StmtPtr> StatementParser::macro() {
  StmtPtr node = make_statement(StmtKind::kMacro);
  next();
  PC_TRY(node->target, name_target());
  PC_CHECK_OK(signature(node.get()));
  const int n_outer = std::exchange(n_loops_, 0);
  PC_TRY(node->body, body({"endmacro"}));
  n_loops_ = n_outer;
  next();
  return node;
}

Result<StmtPtr> StatementParser::call_block() {
  StmtPtr node = make_statement(StmtKind::kCallBlock);
  next();
  if (at_operator("(")) PC_CHECK_OK(signature(node.get()));
  PC_TRY(node->value, expression());
  if (node->value->kind != ExprKind::kCall) return fail(node->line, "expected call");
  const int n_outer = std::exchange(n_loops_, 0);
  PC_TRY(node->body, body({"endcall"}));
  n_loops_ = n_outer;
  next();
  return node;
}

Result<StmtPtr> StatementParser::generation() {
  StmtPtr node = make_statement(StmtKind::kGeneration);
  next();
  const int n_outer = std::exchange(n_loops_, 0);
  PC_TRY(node->body, body({"endgeneration"}));
  n_loops_ = n_outer;
  next();
  return node;
}

Result<StmtPtr> StatementParser::filter_block() {
  StmtPtr node = make_statement(StmtKind::kFilterBlock);
  next();
  PC_TRY(node->value, filters(nullptr, true));
  PC_TRY(node->body, body({"endfilter"}));
  next();
  return node;
}

Result<StmtPtr> StatementParser::with_statement() {
  StmtPtr node = make_statement(StmtKind::kWith);
  next();
  while (!at(TokenKind::kBlockEnd)) {
    if (!node->parameters.empty()) PC_CHECK_OK(expect_operator(","));
    PC_TRY(ExprPtr name, target());
    PC_CHECK_OK(expect_operator("="));
    PC_TRY(ExprPtr value, expression());
    node->parameters.push_back(std::move(name));
    node->defaults.push_back(std::move(value));
  }
  PC_TRY(node->body, body({"endwith"}));
  next();
  return node;
}

// {% print a, b %}
Result<StmtPtr> StatementParser::print_statement() {
  StmtPtr node = make_statement(StmtKind::kPrint);
  next();
  ExprPtr all = make(ExprKind::kConcat, node->line);
  while (!at(TokenKind::kBlockEnd)) {
    if (!all->operands.empty()) PC_CHECK_OK(expect_operator(","));
    PC_TRY(ExprPtr part, expression());
    PC_CHECK_OK(adopt(all.get(), std::move(part)));
  }
  node->value = std::move(all);
  return node;
}

Result<Template> parse_template(std::string_view source) {
  PC_TRY(std::vector<Token> tokens, tokenize(source));
  StatementParser parser(std::move(tokens));
  Template parsed;
  PC_TRY(parsed.body, parser.run());
  PC_CHECK_OK(resolve_names(&parsed));
  return parsed;
}

}  // namespace pc::jinja
