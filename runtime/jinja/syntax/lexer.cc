#include "runtime/jinja/syntax/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/utf8.h"
#include "runtime/jinja/values/error.h"
#include "runtime/jinja/values/literals.h"
#include "runtime/jinja/values/unicode.h"

namespace pc::jinja {
namespace {

constexpr std::array<std::string_view, 10> kLongOperators = {"//", "**", "==", "!=", ">=", "<="};
constexpr std::string_view kOperators = "+-/*%~[](){}><=.:|,;";

// Line ends as "\n", and the last one taken away.
std::string normalised(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') continue;
    out += source[i] == '\r' ? '\n' : source[i];
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)), rest_(source_) {}
  Result<std::vector<Token>> run();

 private:
  enum class Tag { kBlock, kVariable, kComment };

  Status root();           // data, then a tag
  Status inside(Tag tag);  // up to and with the tag's end
  Status raw_block();      // behind {% raw %}
  Status comment();
  Status token();
  Status close(std::string_view bracket);
  bool at_end_of(Tag tag);
  bool take_raw();
  bool take_end(std::string_view end, bool allows_plus, bool trims);

  void emit(TokenKind kind, std::string text) { tokens_.push_back({kind, line_, std::move(text)}); }
  void emit_data(std::string_view data, char sign, bool lstrips);
  Error fail(std::string_view what) const { return template_error(Code::kCorrupt, line_, what); }
  // Moves on by n bytes and counts their lines.
  void skip(std::size_t n) {
    line_ += static_cast<std::uint32_t>(std::count(rest_.begin(), rest_.begin() + n, '\n'));
    starts_line_ = n > 0 ? rest_[n - 1] == '\n' : starts_line_;
    rest_.remove_prefix(n);
  }
  void skip_space() { skip(rest_.size() - strip(rest_, Side::kLeft).size()); }

  std::string source_;
  std::string_view rest_;
  std::uint32_t line_ = 1;
  bool starts_line_ = true;  // the last thing read ended a line
  std::string open_;         // brackets inside the tag
  std::vector<Token> tokens_;
};

Result<std::vector<Token>> Lexer::run() {
  while (!rest_.empty()) PC_CHECK_OK(root());
  emit(TokenKind::kEnd, "");
  return std::move(tokens_);
}

// White space in front of a tag goes where the tag says "-"; where it says
// nothing and stands first on its line, the line's indentation goes.
void Lexer::emit_data(std::string_view data, char sign, bool lstrips) {
  std::string_view kept = data;
  if (sign == '-') {
    kept = strip(data, Side::kRight);
  } else if (sign != '+' && lstrips) {
    const std::size_t line_start = data.rfind('\n') + 1;  // npos + 1 is 0
    const std::string_view indent = data.substr(line_start);
    const bool has_start = line_start > 0 || starts_line_;
    if (has_start && !indent.empty() && strip(indent, Side::kLeft).empty())
      kept = data.substr(0, line_start);
  }
  if (!kept.empty()) emit(TokenKind::kData, std::string(kept));
}

Status Lexer::root() {
  std::size_t at = 0;
  while (true) {
    at = rest_.find('{', at);
    if (at == rest_.npos || at + 1 == rest_.size()) {
      emit(TokenKind::kData, std::string(rest_));
      skip(rest_.size());
      return ok();
    }
    const char next = rest_[at + 1];
    if (next == '%' || next == '{' || next == '#') break;
    ++at;
  }
  const char kind = rest_[at + 1];
  const char after = at + 2 < rest_.size() ? rest_[at + 2] : '\0';
  const char sign = after == '-' || after == '+' ? after : '\0';
  emit_data(rest_.substr(0, at), sign, kind != '{');
  skip(at);
  if (kind == '%' && take_raw()) return raw_block();
  const std::uint32_t line = line_;
  skip(sign ? 3 : 2);
  if (kind == '#') return comment();
  tokens_.push_back({kind == '%' ? TokenKind::kBlockBegin : TokenKind::kVariableBegin, line});
  return inside(kind == '%' ? Tag::kBlock : Tag::kVariable);
}

// Is this {% raw %}? Then moves behind it; trim_blocks does not count for it.
bool Lexer::take_raw() {
  std::string_view tag = rest_.substr(2);
  if (!tag.empty() && (tag[0] == '-' || tag[0] == '+')) tag.remove_prefix(1);
  tag = strip(tag, Side::kLeft);
  if (!tag.starts_with("raw")) return false;
  tag = strip(tag.substr(3), Side::kLeft);
  if (tag.starts_with("%}")) {
    skip(rest_.size() - tag.size() + 2);
  } else if (tag.starts_with("-%}")) {
    skip(rest_.size() - tag.size() + 3);
    skip_space();
  } else {
    return false;
  }
  return true;
}

Status Lexer::raw_block() {
  for (std::size_t at = 0; (at = rest_.find("{%", at)) != rest_.npos; ++at) {
    std::string_view tag = rest_.substr(at + 2);
    const char sign = !tag.empty() && (tag[0] == '-' || tag[0] == '+') ? tag[0] : '\0';
    if (sign) tag.remove_prefix(1);
    tag = strip(tag, Side::kLeft);
    if (!tag.starts_with("endraw")) continue;
    tag = strip(tag.substr(6), Side::kLeft);
    if (!tag.starts_with("%}") && !tag.starts_with("-%}") && !tag.starts_with("+%}")) continue;
    emit_data(rest_.substr(0, at), sign, true);
    skip(rest_.size() - tag.size());
    take_end("%}", true, true);
    return ok();
  }
  return fail("Missing end of raw directive");
}

Status Lexer::comment() {
  for (std::size_t at = 0; (at = rest_.find("#}", at)) != rest_.npos; ++at) {
    const bool has_sign = at > 0 && (rest_[at - 1] == '-' || rest_[at - 1] == '+');
    skip(has_sign ? at - 1 : at);
    take_end("#}", true, true);
    return ok();
  }
  return fail("Missing end of comment tag");
}

// Takes "end", "-end" with the white space behind it, or "+end". Without a sign a
// line end behind it goes where the tag trims.
bool Lexer::take_end(std::string_view end, bool allows_plus, bool trims) {
  if (rest_.starts_with(end)) {
    skip(end.size());
    if (trims && rest_.starts_with('\n')) skip(1);
    return true;
  }
  const bool minus = rest_.starts_with('-'), plus = allows_plus && rest_.starts_with('+');
  if ((!minus && !plus) || !rest_.substr(1).starts_with(end)) return false;
  skip(1 + end.size());
  if (minus) skip_space();
  return true;
}

bool Lexer::at_end_of(Tag tag) {
  if (!open_.empty()) return false;
  const std::uint32_t line = line_;
  const bool is_block = tag == Tag::kBlock;
  if (!take_end(is_block ? "%}" : "}}", is_block, is_block)) return false;
  tokens_.push_back({is_block ? TokenKind::kBlockEnd : TokenKind::kVariableEnd, line});
  return true;
}

Status Lexer::inside(Tag tag) {
  open_.clear();
  while (true) {
    if (at_end_of(tag)) return ok();
    skip_space();
    if (at_end_of(tag)) return ok();
    if (rest_.empty()) return ok();  // the parser misses the end
    PC_CHECK_OK(token());
  }
}

Status Lexer::close(std::string_view bracket) {
  const char wanted = open_.empty() ? '\0' : open_.back();
  if (bracket[0] != wanted) {
    const std::string expected = wanted ? std::string(", expected '") + wanted + "'" : "";
    return fail("unexpected '" + std::string(bracket) + "'" + expected);
  }
  open_.pop_back();
  return ok();
}

Status Lexer::token() {
  const char first = rest_[0];
  if (first == '\'' || first == '"') {
    PC_TRY(const std::size_t n, string_literal_size(rest_, line_));
    PC_TRY(std::string text, string_literal(rest_.substr(1, n - 2), line_));
    emit(TokenKind::kString, std::move(text));
    skip(n);
    return ok();
  }
  if (first >= '0' && first <= '9') {
    const bool after_dot = !tokens_.empty() && tokens_.back().kind == TokenKind::kOperator &&
                           tokens_.back().text == "." && rest_.data() > source_.data() &&
                           rest_.data()[-1] == '.';
    PC_TRY(const NumberLiteral number, number_literal(rest_, after_dot, line_));
    tokens_.push_back({number.is_float ? TokenKind::kFloat : TokenKind::kInteger, line_,
                       std::string(rest_.substr(0, number.size)), number.integer, number.real});
    skip(number.size);
    return ok();
  }
  std::size_t n = 0;
  for (std::size_t next = 0; n < rest_.size() && is_word(utf8_next(rest_, &next)); n = next) {
  }
  if (n > 0) {
    emit(TokenKind::kName, std::string(rest_.substr(0, n)));
    skip(n);
    return ok();
  }
  for (const std::string_view op : kLongOperators)
    if (!op.empty() && rest_.starts_with(op)) n = op.size();
  if (n == 0 && kOperators.find(first) == kOperators.npos)
    return fail("unexpected character " + one_line(rest_.substr(0, utf8_length(first))));
  const std::string text(rest_.substr(0, std::max<std::size_t>(n, 1)));
  if (text == "(" || text == "[" || text == "{")
    open_ += text == "(" ? ')' : text == "[" ? ']' : '}';
  else if (text == ")" || text == "]" || text == "}")
    PC_CHECK_OK(close(text));
  emit(TokenKind::kOperator, text);
  skip(text.size());
  return ok();
}

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view source) {
  PC_EXPECT_CHECKED(is_utf8(source));
  return Lexer(normalised(source)).run();
}

}  // namespace pc::jinja
