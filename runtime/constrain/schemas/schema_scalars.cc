// Strings, numbers and enumerated values of a schema (SchemaCompiler).

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>

#include "runtime/constrain/schemas/formats.h"
#include "runtime/constrain/schemas/schema_compiler.h"

namespace pc::constrain {
namespace {

// Of the automaton of one string; an eighth of what all may have.
constexpr std::size_t kMaxTextUnits = 150'000;

// In digits without an exponent.
std::string decimal_of(const Json& number) {
  if (const auto integer = number.integer()) return std::to_string(*integer);
  std::array<char, 400> digits;  // 310 before the point, or 326 for the smallest
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), number.real(),
                                     std::chars_format::fixed);
  return {digits.data(), written.ptr};
}

// In which this text alone is found.
std::string pattern_of_text(const std::string& text) {
  std::string pattern = "^";
  for (const char c : text) {
    std::array<char, 8> escape{};
    const auto byte = static_cast<unsigned char>(c);
    std::snprintf(escape.data(), escape.size(), "\\u%04x", byte);
    const bool is_literal = byte >= 0x80 || std::isalnum(byte);
    pattern += is_literal ? std::string(1, c) : std::string(escape.data());
  }
  return pattern + "$";
}

// The least integer whose multiples are multiples of this number; 0: none that is small.
std::int64_t integer_factor(const Json& number) {
  constexpr std::int64_t kMost = 1000;
  std::int64_t scale = 1;
  double scaled = number.real();
  for (; std::trunc(scaled) != scaled && scale < 1'000'000;
       scaled = number.real() * static_cast<double>(scale))
    scale *= 10;
  if (std::trunc(scaled) != scaled || scaled < 1 || scaled > 1e15) return 0;
  const auto factor = static_cast<std::int64_t>(scaled);
  const std::int64_t least = factor / std::gcd(factor, scale);
  return least <= kMost ? least : 0;
}

// Digits of integers by what is left of them.
Dfa multiples_of(std::int64_t factor, Budget& budget) {
  const auto n = static_cast<NodeId>(factor);
  budget.spend(11 * std::size_t{n});
  Dfa dfa;
  dfa.nodes.resize(n + 2);  // the start, behind a sign, by what is left
  for (NodeId at = 0; at < n + 2; ++at)
    for (NodeId digit = 0; digit < 10; ++digit) {
      const NodeId left = at < 2 ? 0 : at - 2;
      const auto byte = static_cast<std::uint8_t>('0' + digit);
      dfa.nodes[at].edges.push_back({byte, byte, 2 + (left * 10 + digit) % n});
    }
  dfa.nodes[0].edges.insert(dfa.nodes[0].edges.begin(), Edge{'-', '-', 1});
  dfa.nodes[2].is_final = true;
  return dfa;
}

// Numbers that are no integers, without exponents.
Dfa fractions(Budget& budget) {
  Nfa nfa;
  const NodeId behind_sign = nfa.add(), point = nfa.add(), end = nfa.add();
  nfa.skip(Nfa::kStart, behind_sign);
  nfa.edge(Nfa::kStart, '-', '-', behind_sign);
  nfa.edge(behind_sign, '0', '9', behind_sign);
  nfa.edge(behind_sign, '.', '.', point);
  nfa.edge(point, '0', '9', point);
  nfa.edge(point, '1', '9', end);
  nfa.edge(end, '0', '9', end);
  nfa.finish_at(end);
  return determinise(nfa, budget);
}

// The one of two bounds that counts, of which at most one is missing.
bool excluded_counts(const Json& inclusive, const Json& excluded, bool is_least) {
  if (inclusive.is_null() || excluded.is_null()) return inclusive.is_null();
  return is_least ? excluded.real() >= inclusive.real() : excluded.real() <= inclusive.real();
}

}  // namespace

// Those enumerated ones of these types that the keywords beside them take.
Result<std::vector<Json>> SchemaCompiler::taken_values(const SchemaPart& part, Types types,
                                                       const std::vector<Json>& values) {
  std::vector<Json> taken;
  std::optional<Dfa> text, number;
  for (const Json& value : values) {
    const Types type = types_of_value(value);
    if ((type & types) == 0) continue;
    if (type == kString && !text) {
      PC_TRY(text, string_text(part, {}));
    }
    if (type == kString && !takes(*text, value.dump().substr(1))) continue;
    if ((type & kNumber) && !number) {
      PC_TRY(number, number_text(part, kNumber));
    }
    if ((type & kNumber) && !takes(*number, decimal_of(value))) continue;
    for (const std::string& name : part.json.keys())
      if ((type & (kArray | kObject)) && types_of_keyword(name) == type)
        PC_CHECK_OK(document_.leave_out(
            part, name, "\"" + name + "\" beside enumerated values cannot be enforced here"));
    taken.push_back(value);
  }
  return taken;
}

Result<RuleId> SchemaCompiler::string_rule(const SchemaPart& part) {
  const std::uint32_t least = count_of(part.json, "minLength", 0);
  const std::uint32_t most = count_of(part.json, "maxLength", UINT32_MAX);
  const bool has_pattern = part.json.has("pattern") || part.json.has("format") ||
                           part.json.has(kNoneOf) || part.json.has(kNoPattern);
  if (!has_pattern || least > most) return rules_.string(least, most);
  PC_TRY(const Dfa text, string_text(part, {}));
  return rules_.string_of(text);
}

// What this keyword takes as well, where that is not too large.
Status SchemaCompiler::narrow(std::optional<Dfa>& text, const SchemaPart& part, const char* keyword,
                              const TextMaker& make) {
  Budget some = budget_.part(kMaxTextUnits);
  const std::size_t before = some.left();
  Result<Dfa> less = narrowed(text, make, some);
  if (!less.ok()) return document_.leave_out(part, keyword, less.error().message);
  text = std::move(less).value();
  budget_.spend(before - some.left());
  return ok();
}

Result<Dfa> SchemaCompiler::narrowed(const std::optional<Dfa>& text, const TextMaker& make,
                                     Budget& budget) const {
  PC_TRY(Dfa less, make(budget));
  if (text) less = intersection(*text, less, budget);
  PC_CHECK_OK(budget.check());
  return less;
}

// What all its keywords take.
Result<Dfa> SchemaCompiler::string_text(const SchemaPart& part, const TextForm& form) {
  const std::uint32_t least = count_of(part.json, "minLength", 0);
  const std::uint32_t most = count_of(part.json, "maxLength", UINT32_MAX);
  if (least > most) return Dfa::of_nothing();
  std::optional<Dfa> text;
  if (part.json.has("pattern"))
    PC_CHECK_OK(narrow(text, part, "pattern", [&](Budget& budget) {
      return pattern_text(part.json["pattern"].string(), budget, form);
    }));
  if (part.json.has("format"))
    PC_CHECK_OK(narrow(text, part, "format", [&](Budget& budget) -> Result<Dfa> {
      const std::string format = part.json["format"].string();
      const auto pattern = pattern_of_format(format);
      if (!pattern) return refusal("the format \"" + format + "\" cannot be enforced here");
      return pattern_text(*pattern, budget, form);
    }));
  for (const char* const excluded : {kNoneOf, kNoPattern})
    for (const Json& item : part.json[excluded].items())
      PC_CHECK_OK(narrow(text, part, "not", [&](Budget& budget) {
        const bool is_text = excluded == kNoneOf;
        return all_but(is_text ? pattern_of_text(item.string()) : item.string(), budget, form);
      }));
  if (least > 0 || most != UINT32_MAX)
    PC_CHECK_OK(narrow(text, part, most != UINT32_MAX ? "maxLength" : "minLength",
                       [&](Budget& budget) { return length_text(least, most, budget, form); }));
  return text ? std::move(*text) : length_text(0, UINT32_MAX, budget_, form);
}

Result<Dfa> SchemaCompiler::number_text(const SchemaPart& part, Types types) {
  const Json factor = part.json["multipleOf"];
  const std::int64_t least_factor = factor.is_null() ? 1 : integer_factor(factor);
  if (least_factor == 0) PC_CHECK_OK(document_.leave_out(part, "multipleOf"));
  NumberRange range;
  range.is_integer = types == kInteger || (!factor.is_null() && least_factor > 0);
  range.least = bound(part, "minimum", "exclusiveMinimum", true);
  range.most = bound(part, "maximum", "exclusiveMaximum", false);
  Dfa number = number_dfa(range, budget_);
  if (types == kFraction) number = intersection(number, fractions(budget_), budget_);
  if (least_factor <= 1) return number;
  return intersection(number, multiples_of(least_factor, budget_), budget_);
}

std::optional<Bound> SchemaCompiler::bound(const SchemaPart& part, const char* inclusive,
                                           const char* excluded, bool is_least) const {
  if (!part.json.has(inclusive) && !part.json.has(excluded)) return std::nullopt;
  const bool is_excluded = excluded_counts(part.json[inclusive], part.json[excluded], is_least);
  const Json number = part.json[is_excluded ? excluded : inclusive];
  Bound bound = bound_of(decimal_of(number));
  bound.is_excluded = is_excluded;
  return bound;
}

}  // namespace pc::constrain
