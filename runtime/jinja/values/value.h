// A value of a template: what Python calls an object, as far as templates see it.
//
// Values are cheap to copy and share what they hold. Strings, lists, tuples and
// dictionaries never change once made, so no cycle can arise through them; the
// things that do change (namespaces, loops, frames of macros) belong to a
// rendering's arena, and values only point at them.
//
// Every maker charges the budget; inputs are made without one (nullptr).
// Threads: thread-compatible; immutable values may be shared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "runtime/jinja/values/budget.h"

namespace pc::jinja {

enum class Kind : std::uint8_t {
  kMissing,    // an unassigned variable; never an operand
  kUndefined,  // what a name or attribute that is not there gives
  kNone,
  kBool,
  kInt,
  kFloat,
  kString,
  kList,
  kTuple,
  kDict,
  kView,      // dict.keys(), .values(), .items()
  kRange,     // range(start, stop, step)
  kIterator,  // consumed as it is read: what map, select, items ... give
  kNamespace,
  kLoop,
  kCallable,  // macros, functions, bound methods
};

// The base of everything that a value points at. Gives its bytes back to the budget.
struct Object {
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() {
    if (budget) budget->release(bytes);
  }
  Budget* budget = nullptr;
  std::size_t bytes = 0;
  int depth = 1;             // of the values inside
  std::uint64_t weight = 1;  // elements and 64-byte pieces of text, shared ones counted each time
};

struct Text;
struct Items;
struct Dict;
struct Range;
struct Iterator;
struct Undefined;
struct Namespace;

struct Value {
  Kind kind = Kind::kNone;
  union {
    std::int64_t integer = 0;  // kInt; kBool: 0 or 1
    double real;               // kFloat
  };
  std::shared_ptr<Object> object;

  bool is(Kind k) const { return kind == k; }
  bool is_integral() const { return kind == Kind::kInt || kind == Kind::kBool; }
  bool is_number() const { return is_integral() || kind == Kind::kFloat; }
  double number() const {  // precondition: is_number()
    PC_EXPECT(is_number());
    return kind == Kind::kFloat ? real : static_cast<double>(integer);
  }
  // The same without rounding: long double holds an int64 on every machine we run on.
  long double exact_number() const {
    return kind == Kind::kFloat ? static_cast<long double>(real)
                                : static_cast<long double>(integer);
  }
  // Preconditions: of the kind that holds it.
  const std::string& text() const;
  bool is_markup() const;
  const std::vector<Value>& items() const;  // kList, kTuple, kView
  const Dict& dict() const;
  const Range& range() const;
  Iterator& iterator() const;
  Namespace& name_space() const;
  const std::string& reason() const;  // of kUndefined
  // What printing or comparing it costs, in steps.
  std::uint64_t weight() const { return object ? object->weight : 1; }
};

struct Text final : Object {
  std::string text;        // valid UTF-8
  bool is_ascii = true;    // then a character is a byte
  bool is_markup = false;  // HTML that is safe as it stands: what is added to it is escaped
};

struct Items final : Object {
  std::vector<Value> items;
  const char* name = nullptr;  // kView: "dict_keys", "dict_values" or "dict_items"
};

struct Dict final : Object {
  std::vector<std::pair<Value, Value>> entries;  // in order of insertion

  const Value* find(const Value& key) const;  // precondition: hashable
  const Value* find(std::string_view key) const;
};

struct Range final : Object {
  std::int64_t start = 0, stop = 0, step = 1;
  std::int64_t n = 0;  // of elements
};

// Elements that can be read once. A failure that computing them met is reported
// when it is reached, as Python's generators do.
struct Iterator final : Object {
  std::vector<Value> items;
  std::size_t next = 0;
  std::shared_ptr<Error> failure;  // after the last element
  const char* type_name = "generator";
};

struct Undefined final : Object {
  std::string reason;  // "'x' is undefined"
};

struct Namespace final : Object {
  std::vector<std::pair<std::string, Value>> attributes;
  std::size_t size_at_last_charge = 0;

  Value* find(std::string_view name);
};

inline Value missing() {
  return {.kind = Kind::kMissing, .integer = 0, .object = nullptr};
}
inline Value none() {
  return {};
}
inline Value boolean(bool b) {
  return {.kind = Kind::kBool, .integer = b, .object = nullptr};
}
inline Value integer(std::int64_t i) {
  return {.kind = Kind::kInt, .integer = i, .object = nullptr};
}
inline Value real(double d) {
  return {.kind = Kind::kFloat, .real = d, .object = nullptr};
}
// Undefined for the reason given; never fails, so that it can report anything.
Value undefined(std::string reason);
// For texts of ours, which are short; never fails.
Value word(std::string_view text);

// Precondition of all strings: valid UTF-8.
Result<Value> make_string(Budget* budget, std::string text, bool is_markup = false);
Result<Value> make_list(Budget* budget, std::vector<Value> items);
Result<Value> make_tuple(Budget* budget, std::vector<Value> items);
Result<Value> make_view(Budget* budget, std::vector<Value> items, const char* name);
Result<Value> make_iterator(Budget* budget, std::vector<Value> items,
                            const char* type_name = "generator");
// Of two entries with one key the last value counts, in the place of the first.
// An error for a key that cannot be one.
Result<Value> make_dict(Budget* budget, std::vector<std::pair<Value, Value>> entries);
Result<Value> make_range(Budget* budget, std::int64_t start, std::int64_t stop, std::int64_t step);

// The same object, or the same singleton: Python's `is`.
bool identical(const Value& a, const Value& b);

// 1 == 1.0 == True; a list never equals a tuple; two undefined values are equal.
// Recursion ends at kMaxValueDepth, here and in hash_of.
bool equal(const Value& a, const Value& b);

// Equal values have equal hashes; an error for a list or a dictionary.
Result<std::size_t> hash_of(const Value& value);

// Python's name of the type, as its messages and Jinja's have it: "str", "list".
std::string type_name(const Value& value);

}  // namespace pc::jinja
