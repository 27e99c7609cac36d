#include "runtime/constrain/automata/number_range.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace pc::constrain {
namespace {

// What an integer of 64 bits holds in full. Decimals of so many digits are different doubles where
// they are different, so that a bound that is excluded is not reached by rounding.
constexpr std::size_t kMaxIntegerDigits = 18, kMaxDigits = 15;
// Where the schema says that there may be so many.
constexpr std::size_t kMost = 19;

enum class Order : std::int8_t { kLess, kEqual, kGreater };

Order compared(char a, char b) {
  return a < b ? Order::kLess : a > b ? Order::kGreater : Order::kEqual;
}

// How a magnitude that is being written compares with a bound's.
class Comparison {
 public:
  explicit Comparison(const Bound* bound) : bound_(bound) {}

  // n: digits of the whole part before this one.
  void whole_digit(std::size_t n, char digit) {
    if (bound_ && order_ == Order::kEqual && n < bound_->whole.size())
      order_ = compared(digit, bound_->whole[n]);
  }
  // The whole part has n digits.
  void end_whole(std::size_t n) {
    if (bound_ && n != bound_->whole.size())
      order_ = n < bound_->whole.size() ? Order::kLess : Order::kGreater;
  }
  void fraction_digit(std::size_t n, char digit) {
    if (bound_ && order_ == Order::kEqual)
      order_ = compared(digit, n < bound_->fraction.size() ? bound_->fraction[n] : '0');
  }
  // The fraction has n digits.
  void end_fraction(std::size_t n) {
    if (bound_ && order_ == Order::kEqual && n < bound_->fraction.size()) order_ = Order::kLess;
  }

  // allowed: kGreater for a least bound, kLess for a most one.
  bool fits(Order allowed) const {
    return !bound_ || order_ == allowed || (order_ == Order::kEqual && !bound_->is_excluded);
  }
  Order order() const { return order_; }

 private:
  const Bound* bound_;
  Order order_ = Order::kEqual;
};

// What has been written of a magnitude.
struct Written {
  std::size_t whole = 0, fraction = 0;      // digits
  bool has_point = false, is_zero = false;  // is_zero: its whole part is "0"
  Comparison least, most;

  auto key() const {
    return std::tuple(whole, fraction, has_point, is_zero, least.order(), most.order());
  }
};

// Adds all magnitudes of an interval to an automaton.
class Magnitudes {
 public:
  Magnitudes(Nfa& nfa, Budget& budget, const Bound* least, const Bound* most, bool is_integer)
      : nfa_(nfa), budget_(budget), least_(least), most_(most), is_integer_(is_integer) {
    max_whole_ = is_integer ? kMaxIntegerDigits : kMaxDigits;
    if (least) max_whole_ = std::max(max_whole_, least->whole.size());
    if (most && is_integer) max_whole_ = std::max(max_whole_, std::min(most->whole.size(), kMost));
    for (const Bound* bound : {least, most})
      if (bound && !bound->is_excluded)
        bound_fraction_ = std::max(bound_fraction_, bound->fraction.size());
    if ((least && least->is_excluded) || (most && most->is_excluded)) bound_fraction_ = 0;
  }

  // `end` is reached behind each of them.
  void add(NodeId from, NodeId end) {
    nfa_.skip(from, node_of({0, 0, false, false, Comparison(least_), Comparison(most_)}));
    while (!open_.empty()) {
      const auto [written, node] = open_.back();
      open_.pop_back();
      expand(written, node, end);
    }
  }

 private:
  NodeId node_of(const Written& written) {
    const auto [at, is_new] = nodes_.try_emplace(written.key());
    if (is_new) {
      budget_.spend(12);
      if (budget_.is_over()) return Nfa::kStart;
      at->second = nfa_.add();
      open_.emplace_back(written, at->second);
    }
    return at->second;
  }

  void expand(const Written& written, NodeId node, NodeId end) {
    if (written.whole > 0 && !(written.has_point && written.fraction == 0))
      finish(written, node, end);
    if (written.has_point) {
      if (written.fraction < max_fraction(written)) add_digits(written, node);
      return;
    }
    if (written.whole < max_whole_ && !written.is_zero) add_digits(written, node);
    if (written.whole == 0 || is_integer_ || max_fraction(written) == 0) return;
    Written next = written;
    next.has_point = true;
    next.least.end_whole(written.whole);
    next.most.end_whole(written.whole);
    nfa_.edge(node, '.', '.', node_of(next));
  }

  std::size_t max_fraction(const Written& written) const {
    const std::size_t whole = written.is_zero ? 0 : written.whole;
    return std::max(bound_fraction_, kMaxDigits - std::min(whole, kMaxDigits));
  }

  void add_digits(const Written& written, NodeId node) {
    for (char digit = '0'; digit <= '9'; ++digit) {
      Written next = written;
      for (Comparison* c : {&next.least, &next.most})
        written.has_point ? c->fraction_digit(written.fraction, digit)
                          : c->whole_digit(written.whole, digit);
      if (written.has_point) {
        ++next.fraction;
      } else {
        next.is_zero = written.whole == 0 && digit == '0';
        ++next.whole;
      }
      const auto byte = static_cast<std::uint8_t>(digit);
      nfa_.edge(node, byte, byte, node_of(next));
    }
  }

  void finish(Written written, NodeId node, NodeId end) {
    for (Comparison* c : {&written.least, &written.most}) {
      if (!written.has_point) c->end_whole(written.whole);
      c->end_fraction(written.fraction);
    }
    if (written.least.fits(Order::kGreater) && written.most.fits(Order::kLess))
      nfa_.skip(node, end);
  }

  using Key = decltype(Written{0, 0, false, false, Comparison(nullptr), Comparison(nullptr)}.key());

  Nfa& nfa_;
  Budget& budget_;
  const Bound *least_, *most_;
  bool is_integer_;
  std::size_t max_whole_, bound_fraction_ = 0;
  std::map<Key, NodeId> nodes_;
  std::vector<std::pair<Written, NodeId>> open_;
};

const Bound* pointer_to(const std::optional<Bound>& bound) {
  return bound ? &*bound : nullptr;
}

// An "e" and up to two digits: with the digits before, no number beyond a double's.
void add_exponent(Nfa& nfa, NodeId from, NodeId end) {
  const NodeId mark = nfa.add(), sign = nfa.add(), digit = nfa.add();
  nfa.edge(from, 'e', 'e', mark);
  nfa.edge(from, 'E', 'E', mark);
  nfa.edge(mark, '+', '+', sign);
  nfa.edge(mark, '-', '-', sign);
  nfa.skip(mark, sign);
  nfa.edge(sign, '0', '9', digit);
  nfa.skip(digit, end);
  nfa.edge(digit, '0', '9', end);
}

}  // namespace

Bound bound_of(const std::string& decimal) {
  Bound bound;
  bound.is_negative = decimal.starts_with('-');
  const std::size_t begin = bound.is_negative, point = std::min(decimal.find('.'), decimal.size());
  bound.whole = decimal.substr(begin, point - begin);
  if (point < decimal.size()) bound.fraction = decimal.substr(point + 1);
  while (bound.fraction.ends_with('0')) bound.fraction.pop_back();
  if (bound.is_zero()) bound.is_negative = false;
  return bound;
}

Dfa number_dfa(const NumberRange& range, Budget& budget) {
  Nfa nfa;
  const NodeId end = nfa.add();
  const Bound *least = pointer_to(range.least), *most = pointer_to(range.most);
  const Bound above_zero{"0", "", false, true};
  // Those that are not negative: where the most is not below zero.
  if (!most || !most->is_negative)
    Magnitudes(nfa, budget, least && !least->is_negative ? least : nullptr, most, range.is_integer)
        .add(Nfa::kStart, end);
  // The negative ones: of them the least has the greatest magnitude.
  if (!least || least->is_negative)
    Magnitudes(nfa, budget, most && most->is_negative ? most : &above_zero, least, range.is_integer)
        .add(nfa.literal(Nfa::kStart, "-"), end);
  if (!range.is_integer && !least && !most) {
    const NodeId exact = nfa.add();
    nfa.skip(end, exact);
    add_exponent(nfa, end, exact);
    nfa.finish_at(exact);
  } else {
    nfa.finish_at(end);
  }
  return determinise(nfa, budget);
}

}  // namespace pc::constrain
