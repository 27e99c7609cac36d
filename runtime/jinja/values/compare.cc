#include "runtime/jinja/values/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

namespace pc::jinja {
namespace {

int compare_numbers(const Value& a, const Value& b) {
  const long double x = a.exact_number(), y = b.exact_number();
  if (std::isnan(x) || std::isnan(y)) return 2;
  return x < y ? -1 : x > y;
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
    if (equal(integer(range.start + i * range.step), value)) return true;
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
