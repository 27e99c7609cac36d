#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "tools/constrain/regex.h"
#include "tools/constrain/regex_class.h"

namespace pc::constrain {
namespace {

constexpr int kMaxGroups = 64;                // in each other
constexpr std::uint32_t kMaxCount = 100'000;  // of a repetition; what it makes pays for itself

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

RegexPtr character(const CharacterSet& set) {
  Regex regex;
  regex.kind = Regex::Kind::kCharacter;
  regex.characters = set;
  return std::make_shared<Regex>(std::move(regex));
}

RegexPtr of_parts(Regex::Kind kind, std::vector<RegexPtr> parts) {
  if (parts.size() == 1) return parts.front();
  Regex regex;
  regex.kind = kind;
  regex.parts = std::move(parts);
  return std::make_shared<Regex>(std::move(regex));
}

// By recursive descent.
class PatternParser {
 public:
  explicit PatternParser(std::string_view pattern) : rest_(pattern) {}

  std::vector<AnchoredRegex> run() {
    std::vector<AnchoredRegex> alternatives;
    do {
      AnchoredRegex one;
      one.at_start = take("^");
      one.regex = sequence();
      one.at_end = take("$");
      alternatives.push_back(std::move(one));
    } while (take("|"));
    if (rest_.starts_with(')')) refuse("a group is closed that was not opened");
    if (!rest_.empty()) refuse_here();
    return alternatives;
  }

 private:
  [[noreturn]] static void refuse(const std::string& why) {
    throw Refusal("the pattern cannot be enforced here: " + why);
  }
  [[noreturn]] void refuse_here() const {
    refuse("\"" + std::string(rest_.substr(0, 1)) + "\" cannot stand where it does");
  }

  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  char next() {
    if (rest_.empty()) refuse("it ends too early");
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  RegexPtr choice() {
    std::vector<RegexPtr> alternatives;
    do alternatives.push_back(sequence());
    while (take("|"));
    return of_parts(Regex::Kind::kChoice, std::move(alternatives));
  }

  RegexPtr sequence() {
    std::vector<RegexPtr> parts;
    while (!rest_.empty() && std::string_view("|)$").find(rest_.front()) == std::string_view::npos)
      parts.push_back(repeated(atom()));
    return of_parts(Regex::Kind::kSequence, std::move(parts));
  }

  RegexPtr atom() {
    if (take("(")) return group();
    if (take("[")) return bracket();
    if (take(".")) return character(any_in_line());
    if (take("\\")) return character(escape().surely);
    if (rest_.front() == '^') refuse("\"^\" can only stand at its start");
    if (std::string_view("*+?").find(rest_.front()) != std::string_view::npos) refuse_here();
    const std::uint32_t c = plain();
    return character({{c, c}});
  }

  RegexPtr group() {
    if (++depth_ > kMaxGroups) refuse("too many groups are in each other");
    if (take("?") && !take(":")) {
      if (!take("<") || rest_.starts_with('=') || rest_.starts_with('!'))
        refuse("it looks ahead or behind");
      while (next() != '>') {
      }
    }
    RegexPtr inside = choice();
    if (!take(")")) {
      if (rest_.starts_with('$')) refuse("\"$\" can only stand at its end");
      refuse("a group is not closed");
    }
    --depth_;
    return inside;
  }

  RegexPtr repeated(RegexPtr one) {
    const auto count = quantifier();
    if (!count) return one;
    take("?");  // lazy: the same texts are taken
    if (!rest_.empty() && std::string_view("*+?").find(rest_.front()) != std::string_view::npos)
      refuse_here();
    Regex regex;
    regex.kind = Regex::Kind::kRepeat;
    regex.parts = {std::move(one)};
    regex.least = count->first;
    regex.most = count->second;
    return std::make_shared<Regex>(std::move(regex));
  }

  std::optional<std::pair<std::uint32_t, std::uint32_t>> quantifier() {
    if (take("*")) return std::pair{0u, Regex::kUnlimited};
    if (take("+")) return std::pair{1u, Regex::kUnlimited};
    if (take("?")) return std::pair{0u, 1u};
    if (!rest_.starts_with('{')) return std::nullopt;
    take("{");
    const std::uint32_t least = number();
    std::uint32_t most = least;
    if (take(",")) most = rest_.starts_with('}') ? Regex::kUnlimited : number();
    if (!take("}") || least > most) refuse("what stands in \"{}\" is no repetition");
    return std::pair{least, most};
  }

  std::uint32_t number() {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value > kMaxCount) refuse("what stands in \"{}\" is no repetition");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  RegexPtr bracket() {
    const bool is_negated = take("^");
    if (rest_.starts_with(']')) refuse("engines differ about an empty class");
    RegexClass all;
    while (!take("]")) {
      const std::optional<std::uint32_t> first = class_character(all);
      if (!rest_.starts_with('-') || rest_.starts_with("-]")) continue;
      if (!first) refuse("a range begins with a class");
      take("-");
      RegexClass unused;
      const std::optional<std::uint32_t> last = class_character(unused);
      if (!last || *last < *first) refuse("a range is empty, or ends with a class");
      all.add(RegexClass::of(*first, *last));
    }
    return character(is_negated ? all.others().surely : all.surely);
  }

  // One character, or nothing where it was a class; added.
  std::optional<std::uint32_t> class_character(RegexClass& all) {
    if (rest_.empty()) refuse("a class is not closed");
    if (!take("\\")) {
      const std::uint32_t c = plain();
      all.add(RegexClass::of(c, c));
      return c;
    }
    const RegexClass escaped = escape();
    all.add(escaped);
    const auto ranges = escaped.perhaps.ranges();
    if (ranges.size() == 1 && ranges[0].first == ranges[0].last) return ranges[0].first;
    return std::nullopt;
  }

  // Behind a backslash.
  RegexClass escape() {
    const char c = next();
    const auto one = [](std::uint32_t code) { return RegexClass::of(code, code); };
    switch (c) {
      case 't':
        return one('\t');
      case 'n':
        return one('\n');
      case 'v':
        return one('\v');
      case 'f':
        return one('\f');
      case 'r':
        return one('\r');
      case 'x':
        return one(hexadecimal(2));
      case 'u':
        return one(hexadecimal(4));
      default:
        break;
    }
    if (is_letter(c)) return class_of_letter(c);
    if (c == '0' && (rest_.empty() || !is_digit(rest_.front()))) return one(0);
    if (is_digit(c)) refuse("it refers to a group");
    if (static_cast<unsigned char>(c) >= 0x80) refuse("a character is escaped that needs not be");
    return one(static_cast<unsigned char>(c));
  }

  std::uint32_t hexadecimal(std::size_t digits) {
    std::uint32_t value = 0;
    const char* const end = rest_.data() + std::min(digits, rest_.size());
    const auto read = std::from_chars(rest_.data(), end, value, 16);
    if (rest_.size() < digits || read.ptr != end || read.ec != std::errc())
      refuse("an escape has too few digits");
    if (value >= 0xD800 && value <= 0xDFFF) refuse("a character is written as surrogates");
    rest_.remove_prefix(digits);
    return value;
  }

  // A character that stands for itself, in UTF-8, which the JSON around it was checked to be.
  std::uint32_t plain() {
    const auto head = static_cast<unsigned char>(next());
    if (head < 0x80) return head;
    const int more = head >= 0xF0 ? 3 : head >= 0xE0 ? 2 : 1;
    std::uint32_t c = head & (0x3Fu >> more);
    for (int i = 0; i < more; ++i) c = c << 6 | (static_cast<unsigned char>(next()) & 0x3Fu);
    return c;
  }

  std::string_view rest_;
  int depth_ = 0;
};

}  // namespace

std::vector<AnchoredRegex> parse_pattern(std::string_view pattern) {
  return PatternParser(pattern).run();
}

}  // namespace pc::constrain
