#include <algorithm>
#include <string>
#include <utility>

#include "runtime/constrain/automata/limits.h"
#include "runtime/constrain/automata/refusal.h"
#include "runtime/constrain/grammar/gbnf.h"

namespace pc::constrain {
namespace {

constexpr std::size_t kMaxInARow = 8;            // repetitions of one part
constexpr std::size_t kMaxDepth = 64;            // groups in each other
constexpr std::uint32_t kMaxRepetitions = 2000;  // llama.cpp's

GbnfPtr node(GbnfNode made) {
  return std::make_shared<const GbnfNode>(std::move(made));
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<GbnfRules> run() {
    PC_CHECK_OK(check_bytes(text_.size(), kMaxGbnfBytes));
    GbnfRules rules;
    skip_space(true);
    while (!is_over()) {
      const std::string name = word();
      if (name.empty()) return failed("a rule's name is missing");
      skip_space(false);
      if (!take("::=")) return failed("::= is missing behind \"" + name + "\"");
      skip_space(true);
      PC_TRY(GbnfPtr body, choice(false));
      if (!rules.emplace(name, std::move(body)).second)
        return failed("the rule \"" + name + "\" stands twice");
      if (!is_over() && peek() != '\n' && peek() != '\r')
        return failed(std::string("'") + peek() + "' has no meaning here");
      skip_space(true);
    }
    if (!rules.contains("root")) return refusal("the rule \"root\" is missing");
    return rules;
  }

 private:
  Error failed(const std::string& what) const {
    const auto line = 1 + std::ranges::count(text_.substr(0, at_), '\n');
    return refusal("line " + std::to_string(line) + ": " + what);
  }
  bool is_over() const { return at_ >= text_.size(); }
  char peek() const { return is_over() ? '\0' : text_[at_]; }
  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  // And comments.
  void skip_space(bool lines_too) {
    while (!is_over()) {
      const char c = peek();
      if (c == '#')
        while (!is_over() && peek() != '\n' && peek() != '\r') ++at_;
      else if (c == ' ' || c == '\t' || (lines_too && (c == '\n' || c == '\r')))
        ++at_;
      else
        return;
    }
  }

  std::string word() {
    const std::size_t begin = at_;
    while (is_word(peek())) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  Result<GbnfPtr> choice(bool in_group) {
    GbnfNode made{.kind = GbnfNode::Kind::kChoice};
    do {
      skip_space(true);
      PC_TRY(made.parts.emplace_back(), sequence(in_group));
    } while (take("|"));
    return made.parts.size() == 1 ? made.parts.front() : node(std::move(made));
  }

  Result<GbnfPtr> sequence(bool in_group) {
    GbnfNode made;
    while (begins_item()) {
      const std::size_t n_before = made.parts.size();
      PC_CHECK_OK(add_item(&made.parts));
      skip_space(in_group);
      for (std::size_t n = 0; begins_repetition(); ++n) {
        if (n == kMaxInARow) return failed("more than 8 repetitions stand behind each other");
        if (made.parts.size() == n_before)  // an empty literal, any number of times
          made.parts.push_back(node({}));
        PC_TRY(made.parts.back(), repeated(made.parts.back()));
        skip_space(in_group);
      }
    }
    return node(std::move(made));
  }

  bool begins_item() const {
    const char c = peek();
    return c == '"' || c == '[' || c == '(' || c == '.' || c == '<' || c == '!' || is_word(c);
  }
  bool begins_repetition() const {
    const char c = peek();
    return c == '*' || c == '+' || c == '?' || c == '{';
  }

  Status add_item(std::vector<GbnfPtr>* parts) {
    if (peek() == '<' || peek() == '!')
      return failed("tokens in angle brackets are not read; write their text");
    if (take("\"")) return add_literal(parts);
    if (take("[")) {
      PC_TRY(CharacterSet set, char_class());
      parts->push_back(characters(std::move(set)));
    } else if (take(".")) {
      parts->push_back(characters(CharacterSet::all()));
    } else if (take("(")) {
      PC_TRY(parts->emplace_back(), group());
    } else {
      parts->push_back(node({.kind = GbnfNode::Kind::kCall, .rule = word()}));
    }
    return ok();
  }

  static GbnfPtr characters(CharacterSet set) {
    return node({.kind = GbnfNode::Kind::kCharacter, .characters = std::move(set)});
  }

  // What is repeated behind a literal is its last character, as in llama.cpp.
  Status add_literal(std::vector<GbnfPtr>* parts) {
    while (!take("\"")) {
      if (is_over()) return failed("a text is not closed by \"");
      PC_TRY(const std::uint32_t c, character());
      parts->push_back(characters({{c, c}}));
    }
    return ok();
  }

  Result<GbnfPtr> group() {
    if (++depth_ > kMaxDepth) return failed("more than 64 groups are in each other");
    skip_space(true);
    PC_TRY(GbnfPtr made, choice(true));
    skip_space(true);
    if (!take(")")) return failed("a group is not closed by )");
    --depth_;
    return made;
  }

  Result<CharacterSet> char_class() {
    const bool is_other = take("^");
    std::vector<CharacterSet::Range> ranges;
    while (!take("]")) {
      if (is_over()) return failed("a class is not closed by ]");
      PC_TRY(const std::uint32_t first, character());
      std::uint32_t last = first;
      const bool is_range = peek() == '-' && text_.substr(at_, 2) != "-]";
      if (is_range) {
        ++at_;
        if (is_over()) return failed("a class is not closed by ]");
        PC_TRY(last, character());
      }
      if (last < first) return failed("a range of characters ends before it begins");
      ranges.push_back({first, last});
    }
    CharacterSet set(std::move(ranges));
    return is_other ? set.others() : set;
  }

  Result<GbnfPtr> repeated(GbnfPtr part) {
    std::uint32_t least = 0, most = GbnfNode::kUnlimited;
    if (take("+")) {
      least = 1;
    } else if (take("?")) {
      most = 1;
    } else if (take("{")) {
      skip_space(false);
      PC_TRY(least, number());
      most = least;
      skip_space(false);
      if (take(",")) {
        skip_space(false);
        most = GbnfNode::kUnlimited;
        if (peek() != '}') {
          PC_TRY(most, number());
        }
        skip_space(false);
      }
      if (!take("}")) return failed("a repetition is not closed by }");
      if (most < least) return failed("a repetition has a most that is less than its least");
    } else {
      ++at_;  // *
    }
    return node({.kind = GbnfNode::Kind::kRepeat,
                 .parts = {std::move(part)},
                 .least = least,
                 .most = most});
  }

  Result<std::uint32_t> number() {
    if (peek() < '0' || peek() > '9') return failed("a number is missing in a repetition");
    std::uint32_t n = 0;
    while (peek() >= '0' && peek() <= '9') {
      n = n * 10 + static_cast<std::uint32_t>(text_[at_++] - '0');
      if (n > kMaxRepetitions) return failed("a repetition of more than 2000 times");
    }
    return n;
  }

  // One, or an escape.
  Result<std::uint32_t> character() {
    if (take("\\")) return escape();
    const auto lead = static_cast<unsigned char>(text_[at_]);
    const std::size_t n = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (n > text_.size() - at_) return failed("a character is cut off");
    std::uint32_t c = n == 1 ? lead : lead & (0xFFU >> (n + 1));
    for (std::size_t i = 1; i < n; ++i)
      c = c << 6 | (static_cast<unsigned char>(text_[at_ + i]) & 0x3FU);
    at_ += n;
    if (c > kMaxCharacter) return failed("this is no UTF-8");
    return c;
  }

  Result<std::uint32_t> escape() {
    if (is_over()) return failed("a backslash stands at the end");
    const char c = text_[at_++];
    switch (c) {
      case 'x':
        return hexadecimal(2);
      case 'u':
        return hexadecimal(4);
      case 'U':
        return hexadecimal(8);
      case 't':
        return std::uint32_t{'\t'};
      case 'r':
        return std::uint32_t{'\r'};
      case 'n':
        return std::uint32_t{'\n'};
      case '\\':
      case '"':
      case '[':
      case ']':
        return std::uint32_t{static_cast<unsigned char>(c)};
      default:
        return failed(std::string("\\") + c + " is no escape of GBNF");
    }
  }

  Result<std::uint32_t> hexadecimal(int n) {
    std::uint32_t value = 0;
    for (int i = 0; i < n; ++i) {
      constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
      const std::size_t digit = is_over() ? kDigits.npos : kDigits.find(text_[at_]);
      if (digit == kDigits.npos) return failed("an escape has too few hexadecimal digits");
      ++at_;
      value = value << 4 | static_cast<std::uint32_t>(digit < 16 ? digit : digit - 6);
    }
    if (value > kMaxCharacter || (value >= 0xD800 && value < 0xE000))
      return failed("an escape is no character of Unicode");
    return value;
  }

  const std::string_view text_;
  std::size_t at_ = 0, depth_ = 0;
};

}  // namespace

Result<GbnfRules> parse_gbnf(std::string_view text) {
  return Parser(text).run();
}

}  // namespace pc::constrain
