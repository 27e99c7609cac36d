#include "runtime/chat/jinja_compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>

namespace pc::jinja {
namespace {

// Exact: an int64 fits long double's 64 bits of mantissa on every machine we run on.
int compare_numbers(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return a.integer < b.integer ? -1 : a.integer > b.integer;
  const auto wide = [](const Value& v) {
    return v.is(Kind::kFloat) ? static_cast<long double>(v.real)
                              : static_cast<long double>(v.integer);
  };
  const long double x = wide(a), y = wide(b);
  if (std::isnan(x) || std::isnan(y)) return 2;
  return x < y ? -1 : x > y;
}

bool equal_items(const std::vector<Value>& a, const std::vector<Value>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Value& x, const Value& y) { return identical(x, y) || equal(x, y); });
}

bool equal_dicts(const Dict& a, const Dict& b) {
  if (a.entries.size() != b.entries.size()) return false;
  return std::all_of(a.entries.begin(), a.entries.end(), [&b](const auto& entry) {
    const Value* other = b.find(entry.first);
    return other && equal(entry.second, *other);
  });
}

bool equal_ranges(const Range& a, const Range& b) {
  if (a.n != b.n) return false;
  return a.n == 0 || (a.start == b.start && (a.n == 1 || a.step == b.step));
}

// Views of keys and of items are sets; a view of values equals itself alone.
bool equal_views(const Value& a, const Value& b) {
  if (type_name(a) == "dict_values" || type_name(b) == "dict_values") return false;
  const auto in = [](const std::vector<Value>& all, const Value& one) {
    return std::any_of(all.begin(), all.end(), [&](const Value& v) { return equal(v, one); });
  };
  return a.items().size() == b.items().size() &&
         std::all_of(a.items().begin(), a.items().end(),
                     [&](const Value& v) { return in(b.items(), v); });
}

Error no_order(const Value& a, const Value& b, const char* symbol) {
  return error(Code::kInvalidArgument, std::string("'") + symbol +
                                           "' not supported between instances of '" + type_name(a) +
                                           "' and '" + type_name(b) + "'");
}

Result<int> compare_items(const std::vector<Value>& a, const std::vector<Value>& b,
                          const char* symbol) {
  const std::size_t n = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < n; ++i) {
    if (identical(a[i], b[i]) || equal(a[i], b[i])) continue;
    return compare(a[i], b[i], symbol);
  }
  return a.size() < b.size() ? -1 : a.size() > b.size();
}

bool in_range(const Range& range, const Value& value) {
  if (!value.is_number()) return false;
  for (std::int64_t i = 0; i < range.n; ++i)
    if (compare_numbers(integer(range.start + i * range.step), value) == 0) return true;
  return false;
}

// An iterator is read up to the element.
Result<bool> in_iterator(Iterator& iterator, const Value& value) {
  while (iterator.next < iterator.items.size())
    if (equal(iterator.items[iterator.next++], value)) return true;
  if (iterator.failure) return Error(*iterator.failure);
  return false;
}

}  // namespace

bool is_true(const Value& value) {
  switch (value.kind) {
    case Kind::kMissing:
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
    case Kind::kInt:
      return value.integer != 0;
    case Kind::kFloat:
      return value.real != 0;
    case Kind::kString:
      return !value.text().empty();
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kView:
      return !value.items().empty();
    case Kind::kDict:
      return !value.dict().entries.empty();
    case Kind::kRange:
      return value.range().n > 0;
    default:
      return true;
  }
}

bool identical(const Value& a, const Value& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == Kind::kFloat) return std::memcmp(&a.real, &b.real, sizeof a.real) == 0;
  return a.object ? a.object == b.object : a.integer == b.integer;
}

bool equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Kind::kMissing:
    case Kind::kUndefined:
    case Kind::kNone:
      return true;
    case Kind::kString:
      return a.text() == b.text();
    case Kind::kList:
    case Kind::kTuple:
      return equal_items(a.items(), b.items());
    case Kind::kDict:
      return equal_dicts(a.dict(), b.dict());
    case Kind::kRange:
      return equal_ranges(a.range(), b.range());
    case Kind::kView:
      return identical(a, b) || equal_views(a, b);
    default:
      return identical(a, b);
  }
}

Result<int> compare(const Value& a, const Value& b, const char* symbol) {
  for (const Value* v : {&a, &b})
    if (v->is(Kind::kUndefined)) return error(Code::kInvalidArgument, v->reason());
  if (a.is_number() && b.is_number()) return compare_numbers(a, b);
  if (a.is(Kind::kString) && b.is(Kind::kString)) {
    const int order = a.text().compare(b.text());  // UTF-8 sorts as its characters do
    return order < 0 ? -1 : order > 0;
  }
  if (a.kind == b.kind && (a.is(Kind::kList) || a.is(Kind::kTuple)))
    return compare_items(a.items(), b.items(), symbol);
  return no_order(a, b, symbol);
}

Result<std::size_t> hash_of(const Value& value) {
  switch (value.kind) {
    case Kind::kBool:
    case Kind::kInt:
      return std::hash<double>()(static_cast<double>(value.integer));
    case Kind::kFloat:
      return std::hash<double>()(value.real);
    case Kind::kString:
      return std::hash<std::string>()(value.text());
    case Kind::kTuple: {
      std::size_t hash = value.items().size();
      for (const Value& item : value.items()) {
        PC_TRY(const std::size_t one, hash_of(item));
        hash = hash * 1'000'003 + one;  // any odd multiplier mixes the order in
      }
      return hash;
    }
    case Kind::kList:
    case Kind::kDict:
    case Kind::kView:
      return error(Code::kInvalidArgument, "unhashable type: '" + type_name(value) + "'");
    case Kind::kRange:
      return static_cast<std::size_t>(value.range().n);
    case Kind::kUndefined:
    case Kind::kNone:
      return static_cast<std::size_t>(value.kind);
    default:
      return std::hash<const void*>()(value.object.get());
  }
}

Result<bool> contains(Budget* budget, const Value& container, const Value& value) {
  switch (container.kind) {
    case Kind::kUndefined:
      return false;
    case Kind::kString: {
      if (!value.is(Kind::kString))
        return error(Code::kInvalidArgument,
                     "'in <string>' requires string as left operand, not " + type_name(value));
      if (budget) PC_CHECK_OK(budget->spend_bytes(container.text().size()));
      // memmem is linear, which std::string::find is not.
      return memmem(container.text().data(), container.text().size(), value.text().data(),
                    value.text().size()) != nullptr;
    }
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kView:
      if (budget) PC_CHECK_OK(budget->spend(1 + container.items().size()));
      return std::any_of(container.items().begin(), container.items().end(),
                         [&](const Value& v) { return identical(v, value) || equal(v, value); });
    case Kind::kDict: {
      PC_TRY([[maybe_unused]] const std::size_t hash, hash_of(value));
      if (budget) PC_CHECK_OK(budget->spend(1 + container.dict().entries.size()));
      return container.dict().find(value) != nullptr;
    }
    case Kind::kRange:
      if (budget) PC_CHECK_OK(budget->spend(1 + static_cast<std::uint64_t>(container.range().n)));
      return in_range(container.range(), value);
    case Kind::kIterator:
      if (budget) PC_CHECK_OK(budget->spend(1 + container.iterator().items.size()));
      return in_iterator(container.iterator(), value);
    default:
      return error(Code::kInvalidArgument,
                   "argument of type '" + type_name(container) + "' is not iterable");
  }
}

}  // namespace pc::jinja
