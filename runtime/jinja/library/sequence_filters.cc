// Filters over lists and dictionaries that take their elements as they are:
// first, last, sort, unique and the like.
#include <algorithm>
#include <array>

#include "runtime/jinja/library/access.h"
#include "runtime/jinja/library/filters.h"
#include "runtime/jinja/values/compare.h"
#include "runtime/jinja/values/iterate.h"
#include "runtime/jinja/values/unicode.h"

namespace pc::jinja {
namespace {

// Python runs these when their elements are asked for: a failure shows only then.
template <Function now>
Result<Value> later(Runtime& runtime, const Value& self, const Arguments& arguments) {
  auto made = now(runtime, self, arguments);
  if (made.ok() || made.error().code != Code::kInvalidArgument) return made;
  PC_TRY(Value iterator, make_iterator(&runtime.budget, {}));
  iterator.iterator().failure = std::make_shared<Error>(std::move(made).error());
  return iterator;
}

Result<Value> use_default(Runtime&, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("default", arguments, {"default_value", "boolean"}));
  const bool replaces = self.is(Kind::kUndefined) || (bound.truth(1, false) && !is_true(self));
  if (!replaces) return self;
  return bound.get(0) ? *bound.get(0) : word("");
}

Result<Value> first(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("first", arguments, {}));
  PC_TRY(Cursor cursor, Cursor::over(&runtime.budget, self));
  PC_TRY(auto element, cursor.next());
  return element ? *element : undefined("No first item, sequence was empty.");
}

Error not_reversible(const Value& value) {
  return error(Code::kInvalidArgument, "'" + type_name(value) + "' object is not reversible");
}

Result<Value> last(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("last", arguments, {}));
  if (self.is(Kind::kIterator)) return not_reversible(self);
  PC_TRY(const std::vector<Value> all, elements(&runtime.budget, self));
  return all.empty() ? undefined("No last item, sequence was empty.") : all.back();
}

Result<Value> list(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("list", arguments, {}));
  PC_TRY(std::vector<Value> all, elements(&runtime.budget, self));
  return make_list(&runtime.budget, std::move(all));
}

Result<Value> reverse(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("reverse", arguments, {}));
  if (self.is(Kind::kString)) return get_slice(runtime, self, none(), none(), integer(-1));
  PC_TRY(std::vector<Value> all, elements(&runtime.budget, self));
  std::reverse(all.begin(), all.end());
  if (self.is(Kind::kIterator)) return make_list(&runtime.budget, std::move(all));
  return make_iterator(&runtime.budget, std::move(all), "list_reverseiterator");
}

// One key or, for "a,b", a list of them.
Result<Value> sort_key(Runtime& runtime, const Value& item, const Value& attribute,
                       bool ignores_case) {
  const auto one = [&](const Value& path) -> Result<Value> {
    PC_TRY(Value value, get_path(runtime, item, path));
    return ignores_case ? without_case(runtime, value) : Result<Value>(std::move(value));
  };
  std::vector<Value> keys;
  if (!attribute.is(Kind::kString)) {
    PC_TRY(Value key, one(attribute));
    keys.push_back(std::move(key));
    return make_list(&runtime.budget, std::move(keys));
  }
  std::string_view rest = attribute.text();
  while (true) {
    const std::size_t comma = rest.find(',');
    PC_TRY(const Value path, make_string(&runtime.budget, std::string(rest.substr(0, comma))));
    PC_TRY(Value key, one(path));
    keys.push_back(std::move(key));
    if (comma == rest.npos) break;
    rest.remove_prefix(comma + 1);
  }
  return make_list(&runtime.budget, std::move(keys));
}

Result<Value> sort(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound,
         Bound::bind("sort", arguments, {"reverse", "case_sensitive", "attribute"}));
  PC_TRY(const std::vector<Value> all, elements(&runtime.budget, self));
  const Value attribute = bound.get(2) ? *bound.get(2) : none();
  std::vector<Value> keys;
  for (const Value& item : all) {
    PC_TRY(Value key, sort_key(runtime, item, attribute, !bound.truth(1, false)));
    keys.push_back(std::move(key));
  }
  PC_TRY(const auto places, sorted_places(runtime.budget, keys, bound.truth(0, false)));
  std::vector<Value> sorted;
  for (const std::size_t place : places) sorted.push_back(all[place]);
  return make_list(&runtime.budget, std::move(sorted));
}

Result<Value> sort_dict(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound,
         Bound::bind("dictsort", arguments, {"case_sensitive", "by", "reverse"}));
  PC_TRY(const std::string by, bound.string(1, "key"));
  if (by != "key" && by != "value")
    return error(Code::kInvalidArgument, "You can only sort by either \"key\" or \"value\"");
  if (self.is(Kind::kUndefined)) return error(Code::kInvalidArgument, self.reason());
  if (!self.is(Kind::kDict))
    return error(Code::kInvalidArgument,
                 "'" + type_name(self) + "' object has no attribute 'items'");
  std::vector<Value> keys;
  for (const auto& [key, value] : self.dict().entries) {
    const Value& chosen = by == "key" ? key : value;
    PC_TRY(Value plain, bound.truth(0, false) ? chosen : without_case(runtime, chosen));
    keys.push_back(std::move(plain));
  }
  PC_TRY(const auto places, sorted_places(runtime.budget, keys, bound.truth(2, false)));
  std::vector<Value> sorted;
  for (const std::size_t place : places) {
    const auto& [key, value] = self.dict().entries[place];
    PC_TRY(Value pair, make_tuple(&runtime.budget, {key, value}));
    sorted.push_back(std::move(pair));
  }
  return make_list(&runtime.budget, std::move(sorted));
}

template <bool smallest>
Result<Value> extreme(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound,
         Bound::bind(smallest ? "min" : "max", arguments, {"case_sensitive", "attribute"}));
  PC_TRY(const std::vector<Value> all, elements(&runtime.budget, self));
  if (all.empty()) return undefined("No aggregated item, sequence was empty.");
  const Value attribute = bound.get(1) ? *bound.get(1) : none();
  std::size_t best = 0;
  Value best_key;
  for (std::size_t i = 0; i < all.size(); ++i) {
    PC_TRY(Value key, get_path(runtime, all[i], attribute));
    if (!bound.truth(0, false)) {
      PC_TRY(key, without_case(runtime, key));
    }
    if (i > 0) {
      PC_CHECK_OK(runtime.budget.spend(std::min(key.weight(), best_key.weight())));
      PC_TRY(const int order, smallest ? compare(key, best_key, "<") : compare(key, best_key, ">"));
      if (order != (smallest ? -1 : 1)) continue;
    }
    best = i;
    best_key = std::move(key);
  }
  return all[best];
}

Result<Value> unique_now(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("unique", arguments, {"case_sensitive", "attribute"}));
  PC_TRY(const std::vector<Value> all, elements(&runtime.budget, self));
  const Value attribute = bound.get(1) ? *bound.get(1) : none();
  std::vector<std::pair<Value, Value>> found;
  for (const Value& item : all) {
    PC_TRY(Value key, get_path(runtime, item, attribute));
    if (!bound.truth(0, false)) {
      PC_TRY(key, without_case(runtime, key));
    }
    found.emplace_back(std::move(key), item);
  }
  // A dictionary keeps the first place, but the last value: from behind, it is the first.
  std::reverse(found.begin(), found.end());
  PC_TRY(const Value seen, make_dict(&runtime.budget, found));
  std::reverse(found.begin(), found.end());
  std::vector<Value> kept;
  std::vector<const Value*> taken;
  for (const auto& [key, item] : found) {
    const Value* entry = seen.dict().find(key);
    if (std::find(taken.begin(), taken.end(), entry) != taken.end()) continue;
    PC_CHECK_OK(runtime.budget.spend(1 + taken.size() / 8));
    taken.push_back(entry);
    kept.push_back(item);
  }
  return make_iterator(&runtime.budget, std::move(kept));
}

constexpr std::int64_t kMaxColumns = 100'000;

Result<Value> items(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("items", arguments, {}));
  std::vector<Value> pairs;
  if (self.is(Kind::kDict)) {
    for (const auto& [key, value] : self.dict().entries) {
      PC_TRY(Value pair, make_tuple(&runtime.budget, {key, value}));
      pairs.push_back(std::move(pair));
    }
  }
  PC_TRY(Value iterator, make_iterator(&runtime.budget, std::move(pairs)));
  if (!self.is(Kind::kDict) && !self.is(Kind::kUndefined))
    iterator.iterator().failure = std::make_shared<Error>(
        error(Code::kInvalidArgument, "Can only get item pairs from a mapping."));
  return iterator;
}

constexpr std::array<Method, 12> kFilters = {{
    {"default", use_default},
    {"d", use_default},
    {"first", first},
    {"last", last},
    {"list", list},
    {"reverse", reverse},
    {"sort", sort},
    {"dictsort", sort_dict},
    {"min", extreme<true>},
    {"max", extreme<false>},
    {"unique", later<unique_now>},
    {"items", items},
}};

}  // namespace

// A merge sort that stops at the first pair without an order.
Result<std::vector<std::size_t>> sorted_places(Budget& budget, const std::vector<Value>& keys,
                                               bool descending) {
  std::vector<std::size_t> places(keys.size()), merged(keys.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
  for (std::size_t width = 1; width < places.size(); width *= 2) {
    for (std::size_t low = 0; low < places.size(); low += 2 * width) {
      const std::size_t middle = std::min(low + width, places.size());
      const std::size_t high = std::min(low + 2 * width, places.size());
      std::size_t a = low, b = middle;
      for (std::size_t out = low; out < high; ++out) {
        bool takes_right = a == middle;
        if (a < middle && b < high) {
          const Value &left = keys[places[a]], &right = keys[places[b]];
          PC_CHECK_OK(budget.spend(1 + std::min(left.weight(), right.weight())));
          PC_TRY(const int order, descending ? compare(left, right) : compare(right, left));
          takes_right = order == -1;
        }
        merged[out] = takes_right ? places[b++] : places[a++];
      }
    }
    places.swap(merged);
  }
  return places;
}

std::span<const Method> sequence_filters() {
  return kFilters;
}

}  // namespace pc::jinja
