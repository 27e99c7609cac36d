#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "runtime/constrain/automata/limits.h"
#include "runtime/constrain/automata/regex.h"
#include "runtime/constrain/automata/regex_class.h"

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
  explicit PatternParser(std::string_view pattern) : pattern_(pattern), rest_(pattern) {}

  Result<std::vector<AnchoredRegex>> run() {
    std::vector<AnchoredRegex> alternatives;
    do {
      AnchoredRegex one;
      one.at_start = take("^");
      PC_TRY(one.regex, sequence());
      one.at_end = take("$");
      alternatives.push_back(std::move(one));
    } while (take("|"));
    if (rest_.starts_with(')')) return refused("a group is closed that was not opened");
    if (!rest_.empty()) return refused_here();
    return alternatives;
  }

 private:
  // With the number of bytes that were read.
  Error refused(const std::string& why) const {
    return refusal("the pattern cannot be enforced here, at byte " +
                   std::to_string(pattern_.size() - rest_.size()) + ": " + why);
  }
  Error refused_here() const {
    return refused("\"" + std::string(rest_.substr(0, 1)) + "\" cannot stand where it does");
  }

  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  Result<char> next() {
    if (rest_.empty()) return refused("it ends too early");
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  Result<RegexPtr> choice() {
    std::vector<RegexPtr> alternatives;
    do {
      PC_TRY(alternatives.emplace_back(), sequence());
    } while (take("|"));
    return of_parts(Regex::Kind::kChoice, std::move(alternatives));
  }

  Result<RegexPtr> sequence() {
    std::vector<RegexPtr> parts;
    while (!rest_.empty() &&
           std::string_view("|)$").find(rest_.front()) == std::string_view::npos) {
      PC_TRY(RegexPtr one, atom());
      PC_TRY(parts.emplace_back(), repeated(std::move(one)));
    }
    return of_parts(Regex::Kind::kSequence, std::move(parts));
  }

  Result<RegexPtr> atom() {
    if (take("(")) return group();
    if (take("[")) return bracket();
    if (take(".")) return character(any_in_line());
    if (take("\\")) {
      PC_TRY(const RegexClass escaped, escape());
      return character(escaped.surely);
    }
    if (rest_.front() == '^') return refused("\"^\" can only stand at its start");
    if (std::string_view("*+?").find(rest_.front()) != std::string_view::npos)
      return refused_here();
    PC_TRY(const std::uint32_t c, plain());
    return character({{c, c}});
  }

  Result<RegexPtr> group() {
    if (++depth_ > kMaxGroups) return refused("too many groups are in each other");
    if (take("?") && !take(":")) PC_CHECK_OK(group_name());
    PC_TRY(RegexPtr inside, choice());
    if (!take(")"))
      return refused(rest_.starts_with('$') ? "\"$\" can only stand at its end"
                                            : "a group is not closed");
    --depth_;
    return inside;
  }

  Status group_name() {
    if (!take("<") || rest_.starts_with('=') || rest_.starts_with('!'))
      return refused("it looks ahead or behind");
    while (true) {
      PC_TRY(const char c, next());
      if (c == '>') return ok();
    }
  }

  Result<RegexPtr> repeated(RegexPtr one) {
    PC_TRY(const auto count, quantifier());
    if (!count) return one;
    take("?");  // lazy: the same texts are taken
    if (!rest_.empty() && std::string_view("*+?").find(rest_.front()) != std::string_view::npos)
      return refused_here();
    Regex regex;
    regex.kind = Regex::Kind::kRepeat;
    regex.parts = {std::move(one)};
    regex.least = count->first;
    regex.most = count->second;
    return RegexPtr(std::make_shared<Regex>(std::move(regex)));
  }

  using Count = std::optional<std::pair<std::uint32_t, std::uint32_t>>;

  Result<Count> quantifier() {
    if (take("*")) return Count({0u, Regex::kUnlimited});
    if (take("+")) return Count({1u, Regex::kUnlimited});
    if (take("?")) return Count({0u, 1u});
    if (!take("{")) return Count();
    PC_TRY(const std::uint32_t least, number());
    std::uint32_t most = least;
    if (take(",")) {
      most = Regex::kUnlimited;
      if (!rest_.starts_with('}')) {
        PC_TRY(most, number());
      }
    }
    if (!take("}") || least > most) return refused("what stands in \"{}\" is no repetition");
    return Count({least, most});
  }

  Result<std::uint32_t> number() {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value > kMaxCount)
      return refused("what stands in \"{}\" is no repetition");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  Result<RegexPtr> bracket() {
    const bool is_negated = take("^");
    if (rest_.starts_with(']')) return refused("engines differ about an empty class");
    RegexClassBuilder builder;
    while (!take("]")) {
      PC_TRY(const std::optional<std::uint32_t> first, class_character(builder));
      if (!rest_.starts_with('-') || rest_.starts_with("-]")) continue;
      if (!first) return refused("a range begins with a class");
      take("-");
      RegexClassBuilder unused;
      PC_TRY(const std::optional<std::uint32_t> last, class_character(unused));
      if (!last || *last < *first) return refused("a range is empty, or ends with a class");
      builder.add(RegexClass::of(*first, *last));
    }
    const RegexClass all = std::move(builder).finish();
    return character(is_negated ? all.others().surely : all.surely);
  }

  // One character, or nothing where it was a class; added.
  Result<std::optional<std::uint32_t>> class_character(RegexClassBuilder& all) {
    if (rest_.empty()) return refused("a class is not closed");
    if (!take("\\")) {
      PC_TRY(const std::uint32_t c, plain());
      all.add(RegexClass::of(c, c));
      return std::optional(c);
    }
    PC_TRY(const RegexClass escaped, escape());
    all.add(escaped);
    const auto ranges = escaped.perhaps.ranges();
    const bool is_one = ranges.size() == 1 && ranges[0].first == ranges[0].last;
    return is_one ? std::optional(ranges[0].first) : std::nullopt;
  }

  // Behind a backslash.
  Result<RegexClass> escape() {
    PC_TRY(const char c, next());
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
        return hexadecimal(2);
      case 'u':
        return hexadecimal(4);
      default:
        break;
    }
    if (is_letter(c)) {
      auto known = class_of_letter(c);
      return known.ok() ? known : refused(known.error().message);
    }
    if (c == '0' && (rest_.empty() || !is_digit(rest_.front()))) return one(0);
    if (is_digit(c)) return refused("it refers to a group");
    if (static_cast<unsigned char>(c) >= 0x80)
      return refused("a character is escaped that needs not be");
    return one(static_cast<unsigned char>(c));
  }

  Result<RegexClass> hexadecimal(std::size_t digits) {
    std::uint32_t value = 0;
    const char* const end = rest_.data() + std::min(digits, rest_.size());
    const auto read = std::from_chars(rest_.data(), end, value, 16);
    if (rest_.size() < digits || read.ptr != end || read.ec != std::errc())
      return refused("an escape has too few digits");
    if (value >= 0xD800 && value <= 0xDFFF) return refused("a character is written as surrogates");
    rest_.remove_prefix(digits);
    return RegexClass::of(value, value);
  }

  // A character that stands for itself, in UTF-8, which the pattern is.
  Result<std::uint32_t> plain() {
    PC_TRY(const char first, next());
    const auto head = static_cast<unsigned char>(first);
    if (head < 0x80) return std::uint32_t{head};
    const int more = head >= 0xF0 ? 3 : head >= 0xE0 ? 2 : 1;
    std::uint32_t c = head & (0x3Fu >> more);
    for (int i = 0; i < more; ++i) {
      PC_TRY(const char part, next());
      c = c << 6 | (static_cast<unsigned char>(part) & 0x3Fu);
    }
    return c;
  }

  const std::string_view pattern_;
  std::string_view rest_;
  int depth_ = 0;
};

}  // namespace

Result<std::vector<AnchoredRegex>> parse_pattern(std::string_view pattern) {
  PC_CHECK_OK(check_bytes(pattern.size(), kMaxPatternBytes));
  return PatternParser(pattern).run();
}

}  // namespace pc::constrain
