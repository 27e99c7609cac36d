#include <array>

#include "runtime/jinja/syntax/parser_base.h"

namespace pc::jinja {

// What stands behind a value: subscripts, calls, filters and tests.

Result<ExprPtr> ExpressionParser::postfix(ExprPtr node) {
  while (true) {
    if (at_operator(".") || at_operator("[")) {
      PC_TRY(node, subscript(std::move(node)));
    } else if (at_operator("(")) {
      PC_TRY(node, call(std::move(node)));
    } else {
      return node;
    }
  }
}

Result<ExprPtr> ExpressionParser::filter_chain(ExprPtr node) {
  while (true) {
    if (at_operator("|")) {
      PC_TRY(node, filters(std::move(node), false));
    } else if (at_name("is")) {
      PC_TRY(node, test(std::move(node)));
    } else if (at_operator("(")) {
      PC_TRY(node, call(std::move(node)));
    } else {
      return node;
    }
  }
}

Result<ExprPtr> ExpressionParser::subscript(ExprPtr node) {
  const std::uint32_t line = current().line;
  if (skip_operator(".")) {
    const bool is_name = at(TokenKind::kName);
    if (!is_name && !at(TokenKind::kInteger))
      return fail(current().line, "expected name or number");
    ExprPtr part = make(is_name ? ExprKind::kAttribute : ExprKind::kItem, line);
    PC_CHECK_OK(adopt(part.get(), std::move(node)));
    if (is_name) {
      part->name = current().text;
    } else {
      ExprPtr index = make(ExprKind::kConstant, line);
      index->constant = integer(current().integer);
      PC_CHECK_OK(adopt(part.get(), std::move(index)));
    }
    next();
    return part;
  }
  next();
  ExprPtr part = make(ExprKind::kItem, line);
  PC_CHECK_OK(adopt(part.get(), std::move(node)));
  ExprPtr indices = make(ExprKind::kTuple, line);
  while (!at_operator("]")) {
    if (!indices->operands.empty()) PC_CHECK_OK(expect_operator(","));
    PC_TRY(ExprPtr index, subscribed());
    PC_CHECK_OK(adopt(indices.get(), std::move(index)));
  }
  next();
  const bool is_one = indices->operands.size() == 1;
  PC_CHECK_OK(adopt(part.get(), is_one ? std::move(indices->operands[0]) : std::move(indices)));
  return part;
}

// An index, or start:stop:step with any of them left out.
Result<ExprPtr> ExpressionParser::subscribed() {
  ExprPtr slice = make(ExprKind::kSlice, current().line);
  slice->operands.resize(3);
  if (!at_operator(":")) {
    PC_TRY(ExprPtr first, expression());
    if (!at_operator(":")) return first;
    PC_CHECK_OK(adopt_depth(slice.get(), first));
    slice->operands[0] = std::move(first);
  }
  for (int i = 1; i <= 2 && skip_operator(":"); ++i) {
    if (at_operator(":") || at_operator("]") || at_operator(",")) continue;
    PC_TRY(ExprPtr bound, expression());
    PC_CHECK_OK(adopt_depth(slice.get(), bound));
    slice->operands[static_cast<std::size_t>(i)] = std::move(bound);
  }
  return slice;
}

Result<ExprPtr> ExpressionParser::call(ExprPtr callee) {
  ExprPtr node = make(ExprKind::kCall, current().line);
  PC_CHECK_OK(adopt(node.get(), std::move(callee)));
  PC_TRY(node->arguments, call_arguments());
  PC_CHECK_OK(adopt_depth(node.get(), node->arguments));
  return node;
}

Status ExpressionParser::one_argument(CallArguments* arguments, std::uint32_t line) {
  const Error invalid = fail(line, "invalid syntax for function call expression");
  if (skip_operator("*")) {
    if (arguments->spread_list || arguments->spread_dict) return invalid;
    PC_TRY(arguments->spread_list, expression());
    return ok();
  }
  if (skip_operator("**")) {
    if (arguments->spread_dict) return invalid;
    PC_TRY(arguments->spread_dict, expression());
    return ok();
  }
  if (at(TokenKind::kName) && look().kind == TokenKind::kOperator && look().text == "=") {
    if (arguments->spread_dict) return invalid;
    std::string name = current().text;
    for (const auto& given : arguments->named)
      if (given.first == name) return fail(line, "keyword argument repeated: " + name);
    next();
    next();
    PC_TRY(ExprPtr value, expression());
    arguments->named.emplace_back(std::move(name), std::move(value));
    return ok();
  }
  if (arguments->spread_list || arguments->spread_dict || !arguments->named.empty()) return invalid;
  PC_TRY(ExprPtr value, expression());
  arguments->positional.push_back(std::move(value));
  return ok();
}

Result<CallArguments> ExpressionParser::call_arguments() {
  const std::uint32_t line = current().line;
  PC_CHECK_OK(expect_operator("("));
  CallArguments arguments;
  for (bool first = true; !at_operator(")"); first = false) {
    if (!first) {
      PC_CHECK_OK(expect_operator(","));
      if (at_operator(")")) break;
    }
    PC_CHECK_OK(one_argument(&arguments, line));
  }
  next();
  return arguments;
}

Result<std::string> ExpressionParser::dotted_name() {
  std::string name;
  do {
    if (!name.empty()) name += '.';
    name += current().text;
    PC_CHECK_OK(expect(TokenKind::kName, "name"));
  } while (skip_operator("."));
  return name;
}

Result<ExprPtr> ExpressionParser::filters(ExprPtr node, bool starts_inline) {
  while (at_operator("|") || starts_inline) {
    if (!starts_inline) next();
    starts_inline = false;
    ExprPtr filter = make(ExprKind::kFilter, current().line);
    PC_CHECK_OK(adopt(filter.get(), std::move(node)));
    PC_TRY(filter->name, dotted_name());
    if (at_operator("(")) {
      PC_TRY(filter->arguments, call_arguments());
      PC_CHECK_OK(adopt_depth(filter.get(), filter->arguments));
    }
    node = std::move(filter);
  }
  return node;
}

Result<ExprPtr> ExpressionParser::test(ExprPtr node) {
  const std::uint32_t line = current().line;
  next();
  const bool is_negated = skip_name("not");
  ExprPtr whole = make(ExprKind::kTest, line);
  PC_CHECK_OK(adopt(whole.get(), std::move(node)));
  PC_TRY(whole->name, dotted_name());
  const bool has_argument =
      (at(TokenKind::kName) && !at_name("else") && !at_name("or") && !at_name("and")) ||
      at(TokenKind::kString) || at(TokenKind::kInteger) || at(TokenKind::kFloat) ||
      at_operator("[") || at_operator("{");
  if (at_operator("(")) {
    PC_TRY(whole->arguments, call_arguments());
  } else if (has_argument) {
    if (at_name("is")) return fail(current().line, "You cannot chain multiple tests with is");
    PC_TRY(ExprPtr argument, primary());
    PC_TRY(argument, postfix(std::move(argument)));
    whole->arguments.positional.push_back(std::move(argument));
  }
  PC_CHECK_OK(adopt_depth(whole.get(), whole->arguments));
  if (!is_negated) return whole;
  ExprPtr negation = make(ExprKind::kUnary, line);
  negation->name = "not";
  PC_CHECK_OK(adopt(negation.get(), std::move(whole)));
  return negation;
}

}  // namespace pc::jinja
