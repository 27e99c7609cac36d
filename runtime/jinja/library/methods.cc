#include "runtime/jinja/library/methods.h"

#include <algorithm>
#include <array>

#include "runtime/jinja/values/iterate.h"
#include "runtime/jinja/values/print.h"

namespace pc::jinja {
namespace {

Result<Value> dict_get(Runtime&, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::positional("get", arguments, {"key", "default"}, 1));
  PC_TRY([[maybe_unused]] const std::size_t hash, hash_of(*bound.get(0)));
  if (const Value* value = self.dict().find(*bound.get(0))) return *value;
  return bound.get(1) ? *bound.get(1) : none();
}

Result<Value> dict_keys(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::positional("keys", arguments, {}));
  std::vector<Value> keys;
  for (const auto& entry : self.dict().entries) keys.push_back(entry.first);
  return make_view(&runtime.budget, std::move(keys), "dict_keys");
}

Result<Value> dict_values(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::positional("values", arguments, {}));
  std::vector<Value> values;
  for (const auto& entry : self.dict().entries) values.push_back(entry.second);
  return make_view(&runtime.budget, std::move(values), "dict_values");
}

Result<Value> dict_items(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::positional("items", arguments, {}));
  std::vector<Value> items;
  for (const auto& [key, value] : self.dict().entries) {
    PC_TRY(Value pair, make_tuple(&runtime.budget, {key, value}));
    items.push_back(std::move(pair));
  }
  return make_view(&runtime.budget, std::move(items), "dict_items");
}

Result<Value> list_count(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::positional("count", arguments, {"value"}, 1));
  PC_TRY(const std::vector<Value> all, elements(&runtime.budget, self));
  PC_CHECK_OK(runtime.budget.spend(self.weight()));
  std::int64_t n = 0;
  for (const Value& item : all) n += equal(item, *bound.get(0));
  return integer(n);
}

Result<Value> list_index(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::positional("index", arguments, {"value", "start", "stop"}, 1));
  PC_TRY(const std::vector<Value> all, elements(&runtime.budget, self));
  PC_CHECK_OK(runtime.budget.spend(self.weight()));
  const auto n = static_cast<std::int64_t>(all.size());
  PC_TRY(std::int64_t start, bound.integer(1, 0));
  PC_TRY(std::int64_t stop, bound.integer(2, n));
  start = std::max<std::int64_t>(0, start < 0 ? start + n : start);
  stop = std::min(n, stop < 0 ? stop + n : stop);
  for (std::int64_t i = start; i < stop; ++i)
    if (equal(all[static_cast<std::size_t>(i)], *bound.get(0))) return integer(i);
  PC_TRY(const std::string wanted, to_repr(&runtime.budget, *bound.get(0)));
  return error(Code::kInvalidArgument, wanted + " is not in the " + type_name(self));
}

constexpr std::array<Method, 4> kDictMethods = {{
    {"get", dict_get},
    {"keys", dict_keys},
    {"values", dict_values},
    {"items", dict_items},
}};
constexpr std::array<Method, 2> kListMethods = {{
    {"count", list_count},
    {"index", list_index},
}};

Function find_in(std::span<const Method> methods, std::string_view name) {
  for (const Method& method : methods)
    if (method.name == name) return method.function;
  return nullptr;
}

}  // namespace

Function find_method(const Value& object, std::string_view name) {
  switch (object.kind) {
    case Kind::kString: {
      const Function method = find_in(string_methods(), name);
      return method ? method : find_in(string_split_methods(), name);
    }
    case Kind::kDict:
      return find_in(kDictMethods, name);
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kRange:
      return find_in(kListMethods, name);
    default:
      return nullptr;
  }
}

}  // namespace pc::jinja
