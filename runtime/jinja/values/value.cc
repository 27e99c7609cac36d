#include "runtime/jinja/values/value.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <unordered_map>

namespace pc::jinja {
namespace {

constexpr std::size_t kObjectBytes = 128;  // an object with its counts, rounded up

template <class T>
Result<std::shared_ptr<T>> make(Budget* budget, std::size_t bytes) {
  bytes += kObjectBytes;
  if (budget) PC_CHECK_OK(budget->reserve(bytes));
  auto object = std::make_shared<T>();
  object->budget = budget;
  object->bytes = bytes;
  return object;
}

// Adds what lies inside a new object.
void put_inside(const Value& value, Object* object) {
  if (!value.object) return;
  object->depth = std::max(object->depth, value.object->depth + 1);
  object->weight = std::min(object->weight + value.object->weight, kMaxValueWeight + 1);
}

Status check_size(const Object& object) {
  if (object.depth > kMaxValueDepth)
    return error(Code::kUnsupported, "nests values deeper than " + std::to_string(kMaxValueDepth) +
                                         " levels, the limit");
  if (object.weight > kMaxValueWeight)
    return error(Code::kUnsupported, "makes a value of more than " +
                                         std::to_string(kMaxValueWeight) + " elements, the limit");
  return ok();
}

Status put_inside(const std::vector<Value>& items, Object* object) {
  object->weight += items.size();
  for (const Value& item : items) put_inside(item, object);
  return check_size(*object);
}

Result<Value> make_items(Budget* budget, Kind kind, std::vector<Value> items, const char* name) {
  PC_TRY(auto object, make<Items>(budget, items.capacity() * sizeof(Value)));
  PC_CHECK_OK(put_inside(items, object.get()));
  object->items = std::move(items);
  object->name = name;
  return Value{.kind = kind, .integer = 0, .object = std::move(object)};
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

}  // namespace

const std::string& Value::text() const {
  PC_EXPECT(is(Kind::kString));
  return static_cast<const Text*>(object.get())->text;
}
bool Value::is_markup() const {
  return kind == Kind::kString && static_cast<const Text*>(object.get())->is_markup;
}
const std::vector<Value>& Value::items() const {
  PC_EXPECT(is(Kind::kList) || is(Kind::kTuple) || is(Kind::kView));
  return static_cast<const Items*>(object.get())->items;
}
const Dict& Value::dict() const {
  PC_EXPECT(is(Kind::kDict));
  return *static_cast<const Dict*>(object.get());
}
const Range& Value::range() const {
  PC_EXPECT(is(Kind::kRange));
  return *static_cast<const Range*>(object.get());
}
Iterator& Value::iterator() const {
  PC_EXPECT(is(Kind::kIterator));
  return *static_cast<Iterator*>(object.get());
}
Namespace& Value::name_space() const {
  PC_EXPECT(is(Kind::kNamespace));
  return *static_cast<Namespace*>(object.get());
}
const std::string& Value::reason() const {
  PC_EXPECT(is(Kind::kUndefined));
  return static_cast<const Undefined*>(object.get())->reason;
}

const Value* Dict::find(const Value& key) const {
  for (const auto& [name, value] : entries)
    if (equal(name, key)) return &value;
  return nullptr;
}

const Value* Dict::find(std::string_view key) const {
  for (const auto& [name, value] : entries)
    if (name.is(Kind::kString) && name.text() == key) return &value;
  return nullptr;
}

Value* Namespace::find(std::string_view name) {
  for (auto& [key, value] : attributes)
    if (key == name) return &value;
  return nullptr;
}

Value undefined(std::string reason) {
  auto object = std::make_shared<Undefined>();
  object->reason = std::move(reason);
  return {.kind = Kind::kUndefined, .integer = 0, .object = std::move(object)};
}

Value word(std::string_view text) {
  return make_string(nullptr, std::string(text)).value();
}

Result<Value> make_string(Budget* budget, std::string text, bool is_markup) {
  PC_TRY(auto object, make<Text>(budget, text.capacity()));
  if (budget) PC_CHECK_OK(budget->spend_bytes(text.size()));
  object->is_ascii = std::all_of(text.begin(), text.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  object->is_markup = is_markup;
  object->weight = 1 + text.size() / 64;
  object->text = std::move(text);
  return Value{.kind = Kind::kString, .integer = 0, .object = std::move(object)};
}

Result<Value> make_list(Budget* budget, std::vector<Value> items) {
  return make_items(budget, Kind::kList, std::move(items), nullptr);
}
Result<Value> make_tuple(Budget* budget, std::vector<Value> items) {
  return make_items(budget, Kind::kTuple, std::move(items), nullptr);
}
Result<Value> make_view(Budget* budget, std::vector<Value> items, const char* name) {
  return make_items(budget, Kind::kView, std::move(items), name);
}

Result<Value> make_iterator(Budget* budget, std::vector<Value> items, const char* type_name) {
  PC_TRY(auto object, make<Iterator>(budget, items.capacity() * sizeof(Value)));
  PC_CHECK_OK(put_inside(items, object.get()));
  object->items = std::move(items);
  object->type_name = type_name;
  return Value{.kind = Kind::kIterator, .integer = 0, .object = std::move(object)};
}

Result<Value> make_dict(Budget* budget, std::vector<std::pair<Value, Value>> entries) {
  PC_TRY(auto object, make<Dict>(budget, entries.capacity() * 2 * sizeof(Value)));
  object->weight += entries.size();
  std::unordered_multimap<std::size_t, std::size_t> places;  // hash -> place in entries
  for (auto& [key, value] : entries) {
    PC_TRY(const std::size_t hash, hash_of(key));
    put_inside(key, object.get());
    put_inside(value, object.get());
    const auto [begin, end] = places.equal_range(hash);
    const auto same = std::find_if(begin, end, [&key = key, &object](const auto& place) {
      return equal(object->entries[place.second].first, key);
    });
    if (same != end) {
      object->entries[same->second].second = std::move(value);
      continue;
    }
    places.emplace(hash, object->entries.size());
    object->entries.emplace_back(std::move(key), std::move(value));
  }
  PC_CHECK_OK(check_size(*object));
  return Value{.kind = Kind::kDict, .integer = 0, .object = std::move(object)};
}

Result<Value> make_range(Budget* budget, std::int64_t start, std::int64_t stop, std::int64_t step) {
  constexpr std::int64_t kMaxRange = 100'000;  // that of Jinja's sandbox
  if (step == 0) return error(Code::kInvalidArgument, "range() arg 3 must not be zero");
  __extension__ typedef __int128 Wide;
  const Wide distance = step > 0 ? Wide{stop} - start : Wide{start} - stop;
  const Wide stride = step > 0 ? Wide{step} : -Wide{step};
  const Wide n = distance > 0 ? (distance + stride - 1) / stride : 0;
  if (n > kMaxRange)
    return error(Code::kUnsupported,
                 "Range too big: a template may have at most 100000 elements in one");
  PC_TRY(auto object, make<Range>(budget, 0));
  object->start = start;
  object->stop = stop;
  object->step = step;
  object->n = static_cast<std::int64_t>(n);
  return Value{.kind = Kind::kRange, .integer = 0, .object = std::move(object)};
}

bool identical(const Value& a, const Value& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == Kind::kFloat) return std::memcmp(&a.real, &b.real, sizeof a.real) == 0;
  return a.object ? a.object == b.object : a.integer == b.integer;
}

bool equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return a.exact_number() == b.exact_number();
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

std::string type_name(const Value& value) {
  switch (value.kind) {
    case Kind::kMissing:
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return value.is_markup() ? "Markup" : "str";
    case Kind::kList:
      return "list";
    case Kind::kTuple:
      return "tuple";
    case Kind::kDict:
      return "dict";
    case Kind::kView:
      return static_cast<const Items*>(value.object.get())->name;
    case Kind::kRange:
      return "range";
    case Kind::kIterator:
      return value.iterator().type_name;
    case Kind::kNamespace:
      return "Namespace";
    case Kind::kLoop:
      return "LoopContext";
    case Kind::kCallable:
      return "function";
  }
  return "object";
}

}  // namespace pc::jinja
