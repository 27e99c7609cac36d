#include "runtime/constrain/automata/number_range.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "tests/support/random.h"

namespace pc::constrain::test {
namespace {

using pc::test::Random;

// A decimal of at most `whole` + `fraction` digits, as JSON writes it.
std::string random_decimal(Random& random, std::uint32_t whole, std::uint32_t fraction) {
  std::string text = random.chance(0.4) ? "-" : "";
  const std::uint32_t n = random.between(1, whole);
  std::string digits;
  for (std::uint32_t i = 0; i < n; ++i) digits += static_cast<char>('0' + random.below(i ? 3 : 10));
  text += digits[0] == '0' ? "0" : digits;
  if (const std::uint32_t m = random.below(fraction + 1); m > 0) {
    text += '.';
    for (std::uint32_t i = 0; i < m; ++i) text += static_cast<char>('0' + random.below(10));
  }
  return text;
}

// Thousandths, exactly.
long long thousandths(const std::string& decimal) {
  const std::size_t point = std::min(decimal.find('.'), decimal.size());
  std::string fraction = point < decimal.size() ? decimal.substr(point + 1) : "";
  fraction.resize(3, '0');
  return std::stoll(decimal.substr(0, point) + fraction);
}

bool is_negative_zero(const std::string& decimal) {
  return decimal[0] == '-' && thousandths(decimal) == 0;
}

TEST_CASE("decimals are taken exactly where they are between the bounds") {
  Random random(5);
  int taken = 0;
  for (int round = 0; round < 600; ++round) {
    NumberRange range;
    range.is_integer = random.chance(0.3);
    const std::string low = random_decimal(random, 4, 3), high = random_decimal(random, 4, 3);
    if (random.chance(0.7)) {
      range.least = bound_of(low);
      range.least->is_excluded = random.chance(0.5);
    }
    if (random.chance(0.7)) {
      range.most = bound_of(high);
      range.most->is_excluded = random.chance(0.5);
    }
    Budget budget(1 << 20);
    const Dfa dfa = number_dfa(range, budget);
    for (int i = 0; i < 100; ++i) {
      const std::string text = i == 0   ? low
                               : i == 1 ? high
                                        : random_decimal(random, 4, range.is_integer ? 0 : 3);
      const long long x = thousandths(text);
      bool fits =
          !is_negative_zero(text) && (!range.is_integer || text.find('.') == std::string::npos);
      if (range.least)
        fits = fits && (range.least->is_excluded ? x > thousandths(low) : x >= thousandths(low));
      if (range.most)
        fits = fits && (range.most->is_excluded ? x < thousandths(high) : x <= thousandths(high));
      INFO(low << " " << high << " " << text);
      REQUIRE(takes(dfa, text) == fits);
      taken += fits;
    }
  }
  CHECK(taken > 5000);
}

TEST_CASE("what is no number in JSON is not taken") {
  Budget budget(1 << 20);
  const Dfa any = number_dfa({}, budget);
  for (const char* const text : {"0", "-1", "10.50", "1e5", "1.5E-07", "123456789012345"})
    CHECK(takes(any, text));
  for (const char* const text :
       {"", "-", "01", "1.", ".5", "+1", "1e", "1e+", "1e123", "0x1", "-0", "-0.0", "NaN"})
    CHECK_FALSE(takes(any, text));
}

TEST_CASE("a bound that is excluded is not reached by rounding to a double") {
  Budget budget(1 << 20);
  NumberRange range;
  range.most = bound_of("1234567.1");
  range.most->is_excluded = true;
  const Dfa dfa = number_dfa(range, budget);
  std::string text = "1234567.0";
  while (takes(dfa, text)) {
    CHECK(std::stod(text) < 1234567.1);
    text += "9";
  }
  CHECK(text.size() > 15);
}

}  // namespace
}  // namespace pc::constrain::test
